import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { type Change, diffValues, editConfig } from "../../config/edit/edit-config.ts";
import { replaceFile } from "../../config/edit/replace-file.ts";
import { readConfigText, resolveUserConfig } from "../../config/load.ts";
import { parseSource } from "../../config/parse/source.ts";
import { resolveReferences } from "../../config/references.ts";
import { ConfigError } from "../../errors.ts";
import { isObject, readPath, type Segment, toKeyPath } from "../../shared/json.ts";
import type { MailSourceOptions } from "../sources.ts";
import { REDACTED } from "../../shared/secret.ts";

/** The configuration that is set up. */
export interface Target {
  /** Absolute. */
  file: string;
  /** undefined: the file does not exist yet. */
  text: string | undefined;
  /** The parsed text, with its references. */
  written: Record<string, unknown>;
  /** The state folder, absolute. Secrets are stored there. */
  stateDir: string;
  /** The values of `${NAME}`. */
  env: NodeJS.ProcessEnv;
}

/** An entry of `hooks.mail`. */
export interface WrittenMailbox {
  /** Where it is or will be: `["hooks", "mail"]`, in a list with its index. */
  at: readonly Segment[];
  /** As it is written now; empty if it is new. */
  written: Record<string, unknown>;
}

/** What the configuration must contain. */
export interface WantedMail {
  mailbox: WrittenMailbox;
  /** Of a mailbox that is added to others. */
  name?: string;
  /** Its `source`, with references instead of secrets; undefined keys are left out. */
  source: Record<string, unknown>;
  /** Its other keys; undefined: unchanged. */
  settings: Record<string, string | undefined>;
  /** Files with secrets, by absolute path, to be written first. */
  secretFiles: ReadonlyMap<string, string>;
}

/** A configuration before and after, and its files with secrets. */
export interface SetupPlan {
  file: string;
  before: string | undefined;
  after: string;
  secretFiles: ReadonlyMap<string, string>;
}

/** Reads a configuration as it is written. Throws a `ConfigError` on bad syntax. */
export function readTarget(file: string, env: NodeJS.ProcessEnv): Target {
  const baseDir = path.dirname(file);
  const stateDir = resolveUserConfig({}, { baseDir }).store.path;
  if (!existsSync(file)) return { file, text: undefined, written: {}, stateDir, env };
  const text = readFileSync(file, "utf8");
  if (text.trim() === "") return { file, text, written: {}, stateDir, env };
  const { value } = parseSource(file, text);
  const storePath = readPath(resolveReferences(value, { env, baseDir }).value, ["store", "path"]);
  return {
    file,
    text,
    written: isObject(value) ? value : {},
    stateDir: typeof storePath === "string" ? path.resolve(baseDir, storePath) : stateDir,
    env,
  };
}

/** The mailboxes of a configuration. */
export function findMailboxes({ written }: Target): WrittenMailbox[] {
  const mail = partOf(written, "hooks")["mail"];
  const entries = Array.isArray(mail)
    ? mail.map((entry, index) => ({ at: [...MAIL, index], written: partOf({ entry }, "entry") }))
    : [{ at: MAIL, written: partOf({ mail }, "mail") }];
  return entries.filter((entry) => isObject(entry.written["source"]));
}

/** An entry for another mailbox. */
export function addMailbox(target: Target): WrittenMailbox {
  const { mail } = partOf(target.written, "hooks");
  if (Array.isArray(mail)) return { at: [...MAIL, mail.length], written: {} };
  if (findMailboxes(target).length > 0) return { at: [...MAIL, 1], written: {} };
  return { at: MAIL, written: partOf({ mail }, "mail") };
}

const MAIL: readonly Segment[] = ["hooks", "mail"];

/**
 * Plans what is needed to watch a mailbox: its entry of `hooks.mail`, the preset, and, unless they are set, `hooks.enabled` and a hook token.
 * A new configuration also gets a gateway token. Writes nothing.
 */
export function planSetup(target: Target, { mailbox, name, source, settings, secretFiles }: WantedMail): SetupPlan {
  const hooks = partOf(target.written, "hooks");
  const { at, written } = mailbox;
  const files = new Map(secretFiles);
  const changes: Change[] = [];
  const set = (key: Segment[], value: unknown): void => void changes.push({ kind: "set", path: key, value });

  if (Object.keys(target.written).length === 0) {
    set(["gateway", "auth", "token"], nameToken(target, "gateway-token", files));
  }
  if (hooks["enabled"] === undefined) set(["hooks", "enabled"], true);
  if (hooks["token"] === undefined) set(["hooks", "token"], nameToken(target, "hook-token", files));
  if (!hasPreset(hooks["presets"])) changes.push({ kind: "append", path: ["hooks", "presets"], value: "mail" });
  const wanted = { ...written, ...withoutUndefined({ name, source: withoutUndefined(source), ...settings }) };
  if (readPath(target.written, at.map(String)) !== undefined || at === MAIL) {
    changes.push(...diffValues(written, wanted, at));
  } else {
    if (!Array.isArray(hooks["mail"])) changes.push({ kind: "wrap", path: MAIL });
    changes.push({ kind: "append", path: MAIL, value: wanted });
  }
  return {
    file: target.file,
    before: target.text,
    after: editConfig(target.file, target.text ?? "", changes),
    secretFiles: files,
  };
}

/** Whether nothing is left to write. */
export function isDone({ before, after, secretFiles }: SetupPlan): boolean {
  return before === after && [...secretFiles].every(([file, text]) => isWritten(file, text));
}

/**
 * Writes the secret files, for the user alone, then the configuration. Throws a `ConfigError`, and leaves no new file behind,
 * if the configuration has changed since the plan was made.
 */
export function writeSetup({ file, before, after, secretFiles }: SetupPlan): void {
  const pending = [...secretFiles].filter(([secret, text]) => !isWritten(secret, text));
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

/** How long a login may take. */
const LOGIN_MS = 60_000;

export function loginSignal(): AbortSignal {
  return AbortSignal.timeout(LOGIN_MS);
}

/** The mailbox with its secrets. Throws a `ConfigError` if the configuration would not be valid. */
export async function loadMailbox(target: Target, wanted: Omit<WantedMail, "settings">): Promise<MailSourceOptions> {
  const { file, after, secretFiles } = planSetup(target, { ...wanted, settings: {} });
  const { config, problems } = await readConfigText(file, after, { env: target.env, unwritten: secretFiles });
  const ofMail = problems.filter(({ key }) => key?.startsWith("hooks.mail"));
  const source = config.hooks.mail.find(({ key }) => key === toKeyPath(wanted.mailbox.at))?.source;
  if (ofMail.length === 0 && source) return source;
  throw new ConfigError(ofMail.length > 0 ? ofMail : problems);
}

/** A nested object; empty if there is none. */
export function partOf(written: Record<string, unknown>, ...keys: string[]): Record<string, unknown> {
  return keys.reduce<Record<string, unknown>>((part, key) => {
    const child = part[key];
    return isObject(child) ? child : {};
  }, written);
}

/** `${NAME}` */
export function toVariableReference(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return `\${${name}}`;
  const message = "this is not the name of an environment variable: expected one such as MAIL_PASSWORD";
  throw new ConfigError([{ message }]);
}

/** `${file:PATH}`, relative if the file is below the configuration's folder, so that both can be moved together. */
export function toFileReference(file: string, baseDir: string): string {
  const relative = path.relative(baseDir, file);
  const isBelow = !relative.startsWith("..") && !path.isAbsolute(relative);
  const written = isBelow ? relative.split(path.sep).join("/") : file;
  if (!written.includes("}")) return `\${file:${written}}`;
  throw new ConfigError([{ file, message: "a configuration cannot refer to a path that contains }" }]);
}

/** Whether a written value refers to a secret elsewhere. */
export function isReference(written: unknown): written is string {
  return typeof written === "string" && /(?<!\$)\$\{(?:[A-Za-z_]\w*|file:[^}]+)\}/.test(written);
}

/** A configuration's text with its literal secrets hidden. */
export function hideSecrets(file: string, text: string): string {
  if (text.trim() === "") return text;
  return editConfig(file, text, findSecrets(parseSource(file, text).value, [], false));
}

/** Names of secrets in a configuration, and blocks that may hold secrets under any name. */
const SECRET_KEY = /(?:token|secrets?|password|api_?key)$|^headers$|^env$/i;

function findSecrets(value: unknown, at: readonly Segment[], isSecret: boolean): Change[] {
  if (typeof value === "string") {
    return isSecret && !isReference(value) ? [{ kind: "set", path: at, value: REDACTED }] : [];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => findSecrets(item, [...at, index], isSecret));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    findSecrets(child, [...at, key], isSecret || SECRET_KEY.test(key)),
  );
}

/** The reference to a token file. The token of an earlier run is used again. */
function nameToken({ file, stateDir }: Target, name: string, files: Map<string, string>): string {
  const tokenFile = path.join(stateDir, name);
  if (!existsSync(tokenFile)) files.set(tokenFile, `${randomBytes(24).toString("hex")}\n`);
  return toFileReference(tokenFile, path.dirname(file));
}

function hasPreset(presets: unknown): boolean {
  if (!Array.isArray(presets)) return false;
  return presets.some((entry) => entry === "mail" || (isObject(entry) && entry["use"] === "mail"));
}

function withoutUndefined(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function isWritten(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, "utf8") === text;
}
