import type { Change } from "../../config/edit/edit-config.ts";
import { findUse, findUses, type Target, type WrittenUse } from "../../config/edit/plan.ts";
import { trimSlashes } from "../../config/resolve.ts";
import type { MappingSource } from "../../config/types.ts";
import { readConfigText } from "../../drivers.ts";
import { ConfigError } from "../../errors.ts";
import { isBuiltInHook } from "../../mapping/mapping-index.ts";
import type { EventTimeline } from "../../operator/views.ts";
import { isObject, readPath, toKeyPath } from "../../shared/json.ts";

/** The change of a configuration that calls a new transform. */
export interface TransformPlan {
  change: Change;
  shown: unknown;
  /** `hooks.mappings[0]` */
  key: string;
  /** Something gives the transform an action to start from. */
  hasBase: boolean;
  /** The configuration did not use the preset before. */
  isNewUse?: boolean;
}

/**
 * Plans to call a new module: from the mapping or the preset that took the event, else from a new mapping. Throws a
 * `ConfigError` if that has a transform already. undefined: the hook has a mapping that nothing is known about.
 */
export async function planTransform(
  target: Target,
  name: string,
  event?: EventTimeline,
): Promise<TransformPlan | undefined> {
  const source = event?.mapping === undefined ? undefined : await findSource(target, event.mapping);
  if (!source || !event) return planMapping(target, name, event);
  const { preset, key, id, mapping } = source;
  const use = preset === undefined ? undefined : findUse(target, preset, event.hook);
  if (preset !== undefined && !use) {
    throw new ConfigError([
      { file: target.file, message: `The preset "${preset}" is not in hooks.presets: add it there.` },
    ]);
  }
  // A preset's own transform may be replaced.
  if (mapping.transform && (!use || use.with["transform"] !== undefined)) {
    const message = `The mapping "${id}" has the transform ${mapping.transform.module} already. Make samples for it with \`webhooks events save\`.`;
    throw new ConfigError([{ file: target.file, key, message }]);
  }
  if (use && preset !== undefined) return planUsed(target, name, { preset, use });
  const shown = { module: `${name}.ts` };
  const place = ["hooks", "mappings", Number(/\d+/.exec(key)?.[0]), "transform"];
  return { change: { kind: "set", path: place, value: shown }, shown, key: toKeyPath(place), hasBase: true };
}

/** Plans to call a new module from a use of a preset. */
function planUsed(
  target: Target,
  name: string,
  { preset, use: { at, with: options } }: { preset: string; use: WrittenUse },
): TransformPlan {
  const shown = { module: `${name}.ts` };
  const place = [...at, "with", "transform"];
  const isText = !isObject(readPath(target.written, at.map(String)));
  const change: Change = isText
    ? { kind: "set", path: at, value: { use: preset, with: { ...options, transform: shown } } }
    : { kind: "set", path: place, value: shown };
  return { change, shown, key: toKeyPath(place), hasBase: true };
}

/** Plans to call a new module from the preset that is named. If the configuration does not use it, a use is added. Throws a `ConfigError` if it has a transform. */
export function planPreset(target: Target, name: string, preset: string): TransformPlan {
  const uses = findUses(target, preset);
  const free = uses.find((use) => use.with["transform"] === undefined);
  if (free) return planUsed(target, name, { preset, use: free });
  const [first] = uses;
  if (first) {
    const message = `The preset "${preset}" calls a transform already. Change that one, or use the preset under another path.`;
    throw new ConfigError([{ file: target.file, key: first.key, message }]);
  }
  const shown = { use: preset, with: { transform: { module: `${name}.ts` } } };
  const place = ["hooks", "presets"];
  const change: Change = { kind: "add", path: place, value: shown };
  return { change, shown, key: toKeyPath(place), hasBase: true, isNewUse: true };
}

async function findSource({ file, text = "", env }: Target, id: string): Promise<MappingSource | undefined> {
  const { hooks } = (await readConfigText(file, text, { env })).config;
  return hooks.mappings.find((source) => source.id === id);
}

function planMapping({ written }: Target, name: string, event?: EventTimeline): TransformPlan | undefined {
  const listed = readPath(written, ["hooks", "mappings"]);
  const mappings: unknown[] = Array.isArray(listed) ? listed : [];
  const hooks = mappings.map((mapping) => trimSlashes(String(readPath(mapping, ["match", "path"]))));
  const isFree = event !== undefined && !isBuiltInHook(event.hook) && !hooks.includes(event.hook);
  const hook = isFree ? event.hook : name;
  if (hooks.includes(hook)) return undefined;
  const instructions = "Find the likely cause and say what to do.";
  const shown = { match: { path: hook }, transform: { module: `${name}.ts` }, instructions };
  const change: Change = { kind: "add", path: ["hooks", "mappings"], value: { id: name, ...shown } };
  return { change, shown, key: toKeyPath(["hooks", "mappings", mappings.length]), hasBase: false };
}
