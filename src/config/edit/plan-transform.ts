import { ConfigError } from "../../errors.ts";
import { isObject, readOwn, readPath, toKeyPath } from "../../shared/json.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import { readConfigText } from "../load.ts";
import { findUses } from "../presets/use.ts";
import { trimSlashes } from "../resolve.ts";
import type { MappingSource } from "../types.ts";
import type { Change } from "./edit-config.ts";
import type { Target } from "./plan.ts";

/** How a configuration comes to call a new transform. */
export interface TransformPlan {
  change: Change;
  /** What a person writes at the key. */
  shown: unknown;
  /** `hooks.mappings[0]` */
  key: string;
  /** The hook's name. */
  hook: string;
  /** Something gives the transform an action to start from. */
  hasBase: boolean;
}

/** The event that a transform is written for. */
interface ForEvent {
  hook: string;
  /** The id of the mapping that took it. */
  mapping?: string;
}

/**
 * Plans to call a new module: from the mapping or the preset that took the event, else from a mapping of its own. Throws a
 * `ConfigError` if that has a transform already. undefined: the hook has a mapping that nothing is known about.
 */
export async function planTransform(
  target: Target,
  name: string,
  event: ForEvent | undefined,
): Promise<TransformPlan | undefined> {
  const transform = { module: `${name}.ts` };
  const source = event?.mapping === undefined ? undefined : await findSource(target, event.mapping);
  if (!source || !event) return planMapping(target, name, event);
  if (source.mapping.transform && (source.preset === undefined || readUse(target, source, event.hook))) {
    const given = source.mapping.transform.module;
    const message = `the mapping "${source.id}" has the transform ${given} already: \`webhooks events save\` makes samples for it`;
    throw new ConfigError([{ file: target.file, key: source.key, message }]);
  }
  const hasBase = true;
  if (source.preset === undefined) {
    const at = ["hooks", "mappings", Number(/\d+/.exec(source.key)?.[0])];
    const change = { kind: "set", path: [...at, "transform"], value: transform } as const;
    return { change, shown: transform, key: `${toKeyPath(at)}.transform`, hook: event.hook, hasBase };
  }
  const use = findUses(target, source.preset).find(({ hook }) => hook === event.hook);
  if (!use)
    throw new ConfigError([{ file: target.file, message: `the preset "${source.preset}" is not in hooks.presets` }]);
  const value = { use: source.preset, with: { ...use.with, transform } };
  const isObjectUse = isObject(readPath(target.written, use.at.map(String)));
  const change = isObjectUse
    ? ({ kind: "set", path: [...use.at, "with", "transform"], value: transform } as const)
    : ({ kind: "set", path: use.at, value } as const);
  return { change, shown: transform, key: `${use.key}.with.transform`, hook: event.hook, hasBase };
}

/** Whether the preset's use itself names a transform. */
function readUse(target: Target, { preset = "" }: MappingSource, hook: string): boolean {
  return findUses(target, preset).some((use) => use.hook === hook && use.with["transform"] !== undefined);
}

async function findSource({ file, text = "", env }: Target, id: string): Promise<MappingSource | undefined> {
  const { hooks } = (await readConfigText(file, text, { env })).config;
  return hooks.mappings.find((source) => source.id === id);
}

function planMapping({ written }: Target, name: string, event: ForEvent | undefined): TransformPlan | undefined {
  const listed = readPath(written, ["hooks", "mappings"]);
  const mappings: unknown[] = Array.isArray(listed) ? listed : [];
  const hooks = mappings.map((mapping) => trimSlashes(String(readOwn(readOwn(mapping, "match"), "path"))));
  const isOwn =
    event !== undefined && !BUILT_IN_HOOKS.some((hook) => hook === event.hook) && !hooks.includes(event.hook);
  const hook = isOwn ? event.hook : name;
  if (hooks.includes(hook)) return undefined;
  const instructions = "Find the likely cause and say what to do.";
  const shown = { match: { path: hook }, transform: { module: `${name}.ts` }, instructions };
  const change = { kind: "append", path: ["hooks", "mappings"], value: { id: name, ...shown } } as const;
  return { change, shown, key: toKeyPath(["hooks", "mappings", mappings.length]), hook, hasBase: false };
}
