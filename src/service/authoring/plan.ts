import { trimSlashes } from "../../core/shared/text/text.ts";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { replaceFile } from "../../core/shared/system/files.ts";
import { isObject, readOwn, type Segment, toKeyPath, toObject, withoutUndefined } from "../../core/shared/json.ts";
import { REDACTED, redactAddress } from "../../core/shared/secret.ts";
import { parseSource } from "../../core/config/parse/source.ts";
import { isPresetPath, type PresetPlace, readPreset } from "../../core/config/presets/file.ts";
import { isSecretKey } from "../../core/config/rules/secrets.ts";
import type { PresetUse } from "../../core/config/resolved-config.ts";
import { type Change, editConfig } from "./edit-config.ts";
import { inFile, isEmpty, listItems, readWritten, type Target } from "./target.ts";

/** A configuration before and after, and its files with secrets. */
export interface ConfigPlan {
  /** The file that changes. */
  file: string;
  /** The configuration that it is part of. Default: itself. */
  config?: string;
  before: string | undefined;
  after: string;
  secretFiles: ReadonlyMap<string, string>;
  /** Further files, by absolute path. */
  newFiles?: ReadonlyMap<string, string>;
}

/**
 * The changes that make a configuration one that can be served: `hooks.enabled` and a hook token unless they are set, and a
 * gateway token if it is new. Adds the files of the tokens to `secretFiles`.
 */
export function planBasics(target: Target, secretFiles: Map<string, string>): Change[] {
  const changes: Change[] = [];
  const set = (key: Segment[], value: unknown): void => void changes.push({ kind: "set", path: key, value });
  if (isEmpty(target)) {
    set(["gateway", "auth", "token"], nameToken(target, "gateway-token", secretFiles));
  }
  if (readWritten(target, ["hooks", "enabled"]) === undefined) set(["hooks", "enabled"], true);
  if (readWritten(target, ["hooks", "token"]) === undefined)
    set(["hooks", "token"], nameToken(target, "hook-token", secretFiles));
  return changes;
}

/** A plan with these changes and files. Throws a `ConfigError` if the configuration cannot be edited. */
export function planChanges(
  { file, config, text }: Target,
  changes: readonly Change[],
  files: Pick<ConfigPlan, "secretFiles" | "newFiles">,
): ConfigPlan {
  return { file, config, before: text, after: editConfig(file, text ?? "", changes), ...files };
}

/** Whether nothing is left to write. */
export function isDone({ before, after, secretFiles }: ConfigPlan): boolean {
  return before === after && [...secretFiles].every(([file, text]) => isWritten(file, text));
}

/** Throws a `ConfigError` if one of the new files exists. */
export function requireNew({ newFiles }: ConfigPlan): void {
  const taken = [...(newFiles?.keys() ?? [])].filter((file) => existsSync(file));
  if (taken.length > 0)
    throw new ConfigError(taken.map((file) => ({ file, message: "The file exists already. Remove it first." })));
}

/**
 * Writes the secret files, for the user alone, the new files, then the configuration. Throws a `ConfigError`, and leaves no
 * file behind, if the configuration has changed since the plan was made, or a new file exists.
 */
export function writePlan(plan: ConfigPlan): void {
  requireNew(plan);
  const { file, before, after, secretFiles, newFiles = [] } = plan;
  const pending = [...secretFiles].filter(([secret, text]) => !isWritten(secret, text));
  const added = pending.map(([secret]) => secret).filter((secret) => !existsSync(secret));
  for (const [secret, text] of pending) replaceFile(secret, text, { mode: 0o600 });
  try {
    for (const [name, text] of newFiles) {
      replaceFile(name, text, { expected: null });
      added.push(name);
    }
    if (before !== after) replaceFile(file, after, { expected: before ?? null });
  } catch (error) {
    for (const name of added) rmSync(name, { force: true });
    throw error;
  }
}

/** `${NAME}` */
export function toVariableReference(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return `\${${name}}`;
  const message = "This is not the name of an environment variable. Write one such as MAIL_PASSWORD.";
  throw new ConfigError([{ message }]);
}

/** `${file:PATH}`, relative if the file is below the configuration's folder, so that both can be moved together. */
export function toFileReference(file: string, baseDir: string): string {
  const relative = path.relative(baseDir, file);
  const isBelow = !relative.startsWith("..") && !path.isAbsolute(relative);
  const written = isBelow ? relative.split(path.sep).join("/") : file;
  if (!written.includes("}")) return `\${file:${written}}`;
  throw new ConfigError([
    { file, message: "A configuration cannot refer to a path that contains }. Choose another path." },
  ]);
}

/** Adds a file of the state folder for a secret to the `files` of a plan. Returns the reference to it. */
export function planSecret(
  { file, stateDir }: Pick<Target, "file" | "stateDir">,
  { name, secret }: { name: string; secret: string },
  files: Map<string, string>,
): string {
  const secretFile = path.join(stateDir, name);
  files.set(secretFile, `${secret}\n`);
  return toFileReference(secretFile, path.dirname(file));
}

/** Whether a written value refers to a secret elsewhere. */
export function isReference(written: unknown): written is string {
  return typeof written === "string" && /(?<!\$)\$\{(?:[A-Za-z_]\w*|file:[^}]+)\}/.test(written);
}

/** A configuration's text with its literal secrets hidden, also those in addresses. */
export function hideSecrets(file: string, text: string): string {
  if (text.trim() === "") return text;
  return editConfig(file, text, findSecrets(parseSource(file, text).value, [], false));
}

/** Blocks that may hold secrets under any name. */
const SECRET_BLOCK = /^headers$|^env$/i;

function findSecrets(value: unknown, at: readonly Segment[], isSecret: boolean): Change[] {
  if (typeof value === "string") {
    const shown = isSecret && !isReference(value) ? REDACTED : redactAddress(value);
    return shown === value ? [] : [{ kind: "set", path: at, value: shown }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => findSecrets(item, [...at, index], isSecret));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const childAt = [...at, key];
    return findSecrets(child, childAt, isSecret || isSecretKey(toKeyPath(childAt)) || SECRET_BLOCK.test(key));
  });
}

/** The reference to a token file. The token of an earlier run is used again. */
function nameToken(target: Target, name: string, files: Map<string, string>): string {
  const tokenFile = path.join(target.stateDir, name);
  if (existsSync(tokenFile)) return toFileReference(tokenFile, path.dirname(target.file));
  return planSecret(target, { name, secret: randomBytes(24).toString("hex") }, files);
}

function isWritten(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8") === text;
}

/** A use of a preset as it is written, with its references. */
export interface WrittenUse extends Pick<PresetUse, "with"> {
  /** The file that has it, absolute. */
  file: string;
  at: readonly Segment[];
  /** Dotted path in that file. */
  key: string;
  hook: string;
}

export function findUses(target: Target, preset: PresetPlace): WrittenUse[] {
  return listItems(target, ["hooks", "presets"]).flatMap(({ file, at, item }) => {
    const use = typeof item === "string" ? item : readOwn(item, "use");
    if (typeof use !== "string" || !isUse(use, preset, file)) return [];
    const options = toObject(readOwn(item, "with"));
    return [{ file, at, key: toKeyPath(at), hook: toHook(preset.name, options["path"]), with: options }];
  });
}

function isUse(use: string, { name, folder, written }: PresetPlace, file: string): boolean {
  if (isPresetPath(use)) return path.resolve(path.dirname(file), use) === folder;
  return use === name && !isPresetPath(written);
}

/** The same for one hook. Default: the hook of the preset's name. */
export function findWrittenUse(target: Target, preset: PresetPlace, hook = preset.name): WrittenUse | undefined {
  return findUses(target, preset).find((use) => use.hook === hook);
}

/** Throws a `ConfigError` if the preset is already used for this hook. */
export function requireUnused(target: Target, preset: PresetPlace, givenPath: string | undefined): void {
  const { name } = preset;
  const hook = toHook(name, givenPath);
  const use = findWrittenUse(target, preset, hook);
  if (!use) return;
  const message = `The preset "${name}" is already used for the hook "${hook}". Change it there, or choose another hook with --path.`;
  throw new ConfigError([{ file: use.file, key: use.key, message }]);
}

export interface WantedPreset {
  preset: PresetPlace;
  /** The options of `with`. Undefined ones are left out. */
  options: Record<string, unknown>;
  /** Where it is used already: the other options stay. */
  use?: WrittenUse;
}

/**
 * Plans to use a preset, with `hooks.enabled` and a hook token unless they are set. Secrets among the options go to files of
 * the state folder; references stay. Writes nothing.
 */
export function planUse(given: Target, { preset, options, use }: WantedPreset): ConfigPlan {
  const target = use ? inFile(given, use.file) : given;
  const secretFiles = new Map<string, string>();
  const stem = toHook(preset.name, options["path"]).replaceAll(/[^\w.-]/g, "-");
  const store = ([key, value]: [string, unknown]): [string, unknown] => {
    if (!isSecretKey(key) || isReference(value) || typeof value !== "string") return [key, value];
    return [key, planSecret(target, { name: `${stem}-${key}`, secret: value }, secretFiles)];
  };
  const entries = Object.entries(withoutUndefined(options)).map(store);
  const written = writePlace(preset, target);
  if (use) {
    const value = { use: written, with: { ...use.with, ...Object.fromEntries(entries) } };
    return planChanges(target, [{ kind: "set", path: use.at, value }], { secretFiles });
  }
  const own = [...entries, ...Object.entries(closeFrom(preset, options))];
  const entry = own.length === 0 ? written : { use: written, with: Object.fromEntries(own) };
  const basics = planBasics(target, secretFiles);
  const changes = [...basics, { kind: "add", path: ["hooks", "presets"], value: entry } as const];
  return planChanges(target, changes, { secretFiles });
}

/** Where somebody must say who may start a turn, nobody may at first. The first message that is skipped names an id. */
function closeFrom({ folder }: PresetPlace, options: Record<string, unknown>): { from?: string[] } {
  const { from } = readPreset(folder).preset;
  const isOpen = !from || from.default !== undefined || options["from"] !== undefined || options["action"] === "none";
  return isOpen ? {} : { from: [] };
}

/** A preset as a configuration names it: by its name, or by its folder, relative to the configuration's. */
export function writePlace({ name, folder, written }: PresetPlace, { file }: Pick<Target, "file">): string {
  if (!isPresetPath(written)) return name;
  const relative = path.relative(path.dirname(file), folder).split(path.sep).join("/");
  return relative.startsWith("../") ? relative : `./${relative}`;
}

/** A secret that a person can paste anywhere. */
export function createSecret(): string {
  return randomBytes(32).toString("hex");
}

/** One for a preset: basic authentication has the preset's name as its user, and Standard Webhooks has its own form. */
export function createPresetSecret(preset: string, scheme: unknown): string {
  if (scheme === "standard-webhooks") return `whsec_${randomBytes(32).toString("base64")}`;
  return scheme === "basic" ? `${preset}:${createSecret()}` : createSecret();
}

function toHook(name: string, given: unknown): string {
  return trimSlashes(typeof given === "string" ? given : name);
}
