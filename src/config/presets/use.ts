import { randomBytes } from "node:crypto";
import path from "node:path";
import { ConfigError } from "../../errors.ts";
import { readOwn, type Segment, toKeyPath, toObject, withoutUndefined } from "../../shared/json.ts";
import { type ConfigPlan, isReference, planBasics, planChanges, type Target, toFileReference } from "../edit/plan.ts";
import { trimSlashes } from "../resolve.ts";

/** A use of a preset as it is written, with its references. */
export interface WrittenUse {
  at: readonly Segment[];
  /** `hooks.presets[0]` */
  key: string;
  /** The hook's name. */
  hook: string;
  with: Record<string, unknown>;
}

/** The uses of a preset in a configuration. */
export function findUses({ written }: Target, name: string): WrittenUse[] {
  const { presets } = toObject(written["hooks"]);
  if (!Array.isArray(presets)) return [];
  return presets.flatMap((entry: unknown, index) => {
    const use = typeof entry === "string" ? entry : readOwn(entry, "use");
    if (use !== name) return [];
    const options = toObject(readOwn(entry, "with"));
    const at = ["hooks", "presets", index];
    return [{ at, key: toKeyPath(at), hook: toHook(name, options["path"]), with: options }];
  });
}

/** Throws a `ConfigError` if the preset is already used for this hook. */
export function requireUnused(target: Target, name: string, givenPath: string | undefined): void {
  const hook = toHook(name, givenPath);
  const use = findUses(target, name).find((found) => found.hook === hook);
  if (!use) return;
  const message = `the preset "${name}" is already used for the hook "${hook}": change it there, or choose another hook with --path`;
  throw new ConfigError([{ file: target.file, key: use.key, message }]);
}

export interface WantedPreset {
  name: string;
  /** The options of `with`. Undefined ones are left out. */
  options: Record<string, unknown>;
}

/** Whether an option holds a secret, by its name. */
export function isSecretOption(name: string): boolean {
  return /secret|token|password|key$/i.test(name);
}

/**
 * Plans to use a preset, with `hooks.enabled` and a hook token unless they are set. Secrets among the options go to files of
 * the state folder; references stay. Writes nothing.
 */
export function planUse(target: Target, { name, options }: WantedPreset): ConfigPlan {
  const secretFiles = new Map<string, string>();
  const stem = toHook(name, options["path"]).replaceAll(/[^\w.-]/g, "-");
  const store = ([key, value]: [string, unknown]): [string, unknown] => {
    if (!isSecretOption(key) || isReference(value) || typeof value !== "string") return [key, value];
    const file = path.join(target.stateDir, `${stem}-${key}`);
    secretFiles.set(file, `${value}\n`);
    return [key, toFileReference(file, path.dirname(target.file))];
  };
  const given = Object.entries(withoutUndefined(options));
  const entry = given.length === 0 ? name : { use: name, with: Object.fromEntries(given.map(store)) };
  const basics = planBasics(target, secretFiles);
  const changes = [...basics, { kind: "add", path: ["hooks", "presets"], value: entry } as const];
  return planChanges(target, changes, { secretFiles });
}

/** A secret that a person can paste anywhere. */
export function createSecret(): string {
  return randomBytes(32).toString("hex");
}

function toHook(name: string, given: unknown): string {
  return trimSlashes(typeof given === "string" ? given : name);
}
