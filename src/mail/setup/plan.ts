import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { editConfig } from "../../config/edit/edit-config.ts";
import { replaceFile } from "../../config/edit/replace-file.ts";
import { type Change, toChanges } from "../../config/edit/splice.ts";
import { readConfigText } from "../../config/load.ts";
import { parseSource } from "../../config/parse/source.ts";
import { DEFAULTS } from "../../config/resolve.ts";
import { ConfigError } from "../../errors.ts";
import { isObject, type Segment } from "../../shared/json.ts";
import { REDACTED } from "../../shared/secret.ts";

/** What the configuration is to say. */
export interface Wanted {
  /** `hooks.mail.source` as it is to be written, secrets by their references; what is undefined is left out. */
  source: Record<string, unknown>;
  /** Further keys of `hooks.mail`; undefined: as they are. */
  settings: Record<string, string | undefined>;
  /** Files that must be written first, by absolute path. */
  unwritten: ReadonlyMap<string, string>;
}

/** A configuration before and after, and the files with secrets that go with it. */
export interface SetupPlan {
  file: string;
  before: string | undefined;
  after: string;
  unwritten: ReadonlyMap<string, string>;
}

/**
 * What must be written so that a mailbox is watched: the mailbox, the preset that takes its mails, and, where nothing says
 * otherwise yet, hooks that are on and a token for them. A configuration that begins here gets a token for its operator, too.
 * Only what differs is touched. Writes nothing.
 */
export function planSetup(target: Target, { source, settings, unwritten }: Wanted): SetupPlan {
  const hooks = partOf(target.written, "hooks");
  const token = hooks["token"] === undefined ? nameToken(target, "hook-token") : undefined;
  const isNew = Object.keys(target.written).length === 0;
  const gatewayToken = isNew ? nameToken(target, "gateway-token") : undefined;
  const secrets = [token?.unwritten, gatewayToken?.unwritten].filter((secret) => secret !== undefined);
  const changes = [
    ...(gatewayToken ? [{ path: ["gateway", "auth", "token"], value: gatewayToken.reference }] : []),
    ...(hooks["enabled"] === undefined ? [put("enabled", true)] : []),
    ...(token ? [put("token", token.reference)] : []),
    ...enablePreset(hooks["presets"]),
    ...changeMail(partOf(hooks, "mail"), source, settings),
  ];
  return {
    file: target.file,
    before: target.text,
    after: editConfig(target.file, target.text ?? "", changes),
    unwritten: new Map([...unwritten, ...secrets]),
  };
}

function put(key: string, value: unknown): Change {
  return { path: ["hooks", key], value };
}

/** A token that an earlier run has made is used again. */
function nameToken({ file, stateDir }: Target, name: "hook-token" | "gateway-token"): ReturnType<typeof nameSecret> {
  const ownFile = path.join(stateDir, name);
  const isThere = existsSync(ownFile);
  return nameSecret(
    isThere ? { kind: "file", file: ownFile } : { kind: "text", text: randomBytes(24).toString("hex") },
    { baseDir: path.dirname(file), ownFile },
  );
}

function enablePreset(presets: unknown): Change[] {
  if (!Array.isArray(presets)) return [put("presets", ["mail"])];
  const isEnabled = presets.some((entry) => entry === "mail" || (isObject(entry) && entry["use"] === "mail"));
  return isEnabled ? [] : [{ path: ["hooks", "presets", presets.length], value: "mail" }];
}

function changeMail(mail: Record<string, unknown>, source: object, settings: Wanted["settings"]): Change[] {
  const given = Object.entries({ source: withoutUndefined(source), ...settings }).filter(
    ([, value]) => value !== undefined,
  );
  return toChanges(mail, { ...mail, ...Object.fromEntries(given) }, ["hooks", "mail"]);
}

function withoutUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Whether anything is left to write. */
export function isDone({ before, after, unwritten }: SetupPlan): boolean {
  return before === after && [...unwritten].every(([file, text]) => isWritten(file, text));
}

/**
 * Writes the secrets' files, each for its user alone, then the configuration. Throws a `ConfigError`, with no new file left
 * behind, where the configuration was changed since the plan was made.
 */
export function writeSetup({ file, before, after, unwritten }: SetupPlan): void {
  const pending = [...unwritten].filter(([secret, text]) => !isWritten(secret, text));
  const added = pending.map(([secret]) => secret).filter((secret) => !existsSync(secret));
  for (const [secret, text] of pending) replaceFile(secret, text, { mode: 0o600 });
  if (before === after) return;
  try {
    replaceFile(file, after, { expected: before ?? null });
  } catch (error) {
    for (const secret of added) rmSync(secret, { force: true });
    throw error;
  }
}

function isWritten(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8") === text;
}

/** A configuration that is to be set up. */
export interface Target {
  /** Absolute. */
  file: string;
  /** undefined: there is none yet. */
  text: string | undefined;
  /** As it is written, with its references. */
  written: Record<string, unknown>;
  /** Folder for secrets of the service's own, absolute. */
  stateDir: string;
}

/** Reads a configuration as a person wrote it. Throws a `ConfigError` on bad syntax. */
export async function readTarget(file: string): Promise<Target> {
  const stateDir = path.resolve(path.dirname(file), DEFAULTS.store.path);
  if (!existsSync(file)) return { file, text: undefined, written: {}, stateDir };
  const text = readFileSync(file, "utf8");
  if (text.trim() === "") return { file, text, written: {}, stateDir };
  const { value } = parseSource(file, text);
  const { config } = await readConfigText(file, text, { env: process.env });
  return { file, text, written: isObject(value) ? value : {}, stateDir: config.store.path };
}

/** A part of what is written, by its keys; empty where there is no object. */
export function partOf(written: Record<string, unknown>, ...keys: string[]): Record<string, unknown> {
  return keys.reduce<Record<string, unknown>>((part, key) => {
    const child = part[key];
    return isObject(child) ? child : {};
  }, written);
}

/** Where a secret is, or the secret itself. */
export type SecretPlace =
  | { kind: "env"; name: string }
  /** Absolute. */
  | { kind: "file"; file: string }
  | { kind: "text"; text: string };

/** A secret as a configuration names it, without ever holding it. */
export interface NamedSecret {
  /** `${NAME}` or `${file:PATH}`. */
  reference: string;
  /** A file that must be written first: its absolute path and its text. */
  unwritten?: readonly [file: string, text: string];
}

/** Names a secret in a configuration of the folder `baseDir`. One that is only known as text goes into `ownFile`. */
export function nameSecret(
  place: SecretPlace,
  { baseDir, ownFile }: { baseDir: string; ownFile: string },
): NamedSecret {
  if (place.kind === "env") return { reference: `\${${requireName(place.name)}}` };
  const file = place.kind === "file" ? place.file : ownFile;
  const reference = `\${file:${toWrittenPath(file, baseDir)}}`;
  return place.kind === "file" ? { reference } : { reference, unwritten: [ownFile, `${place.text}\n`] };
}

/** Whether a value as it is written takes a secret from elsewhere. */
export function isReference(written: unknown): written is string {
  return typeof written === "string" && /(?<!\$)\$\{(?:[A-Za-z_]\w*|file:[^}]+)\}/.test(written);
}

function requireName(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return name;
  throw new ConfigError([
    { message: "That is no name of an environment variable: expected one such as MAIL_PASSWORD." },
  ]);
}

/** Relative to the configuration where it lies below it, so that both can move together. */
function toWrittenPath(file: string, baseDir: string): string {
  const relative = path.relative(baseDir, file);
  const isBelow = !relative.startsWith("..") && !path.isAbsolute(relative);
  const written = isBelow ? relative.split(path.sep).join("/") : file;
  if (!written.includes("}")) return written;
  throw new ConfigError([{ file, message: "a file with } in its path cannot be named in a configuration" }]);
}

/** Names under which a configuration keeps secrets, and blocks that may hold some under any name. */
const SECRET_KEY = /(?:token|secrets?|password|api_?key)$|^headers$|^env$/i;

/** A configuration's text for a person to look at: what it says in clear where secrets stand is hidden. */
export function hideSecrets(file: string, text: string): string {
  if (text.trim() === "") return text;
  return editConfig(file, text, findSecrets(parseSource(file, text).value, [], false));
}

function findSecrets(value: unknown, at: readonly Segment[], isSecret: boolean): Change[] {
  if (typeof value === "string") return isSecret && !isReference(value) ? [{ path: at, value: REDACTED }] : [];
  if (Array.isArray(value)) return value.flatMap((item, index) => findSecrets(item, [...at, index], isSecret));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    findSecrets(child, [...at, key], isSecret || SECRET_KEY.test(key)),
  );
}
