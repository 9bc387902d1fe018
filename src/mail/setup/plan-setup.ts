import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { type Change, toChanges } from "../../config/edit/change.ts";
import { editConfig } from "../../config/edit/edit-config.ts";
import { isObject } from "../../config/is-object.ts";
import { nameSecret } from "./secret-place.ts";
import { partOf, type Target } from "./target.ts";

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
function nameToken(
  { file, stateDir }: Target,
  name: "hook-token" | "gateway-token",
): ReturnType<typeof nameSecret> {
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
