import { existsSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../../errors.ts";
import { readPath, type Segment, toKeyPath, toObject } from "../../shared/json.ts";
import { createSecret } from "../presets/use.ts";
import { didYouMean } from "../schema/problems.ts";
import { DEFAULT_TOKEN } from "../types.ts";
import type { Change } from "./edit-config.ts";
import { type ConfigPlan, planChanges, type Target, toFileReference } from "./plan.ts";

export interface Rotation extends ConfigPlan {
  /** The file of the new secret, absolute. */
  secretFile: string;
  secret: string;
}

/**
 * Plans a second secret for a token, in front of the one that senders have. Until the older one is dropped, the hooks accept
 * both. Throws a `ConfigError` if the token has two already.
 */
export function planRotation(target: Target, name: string): Rotation {
  const at = locateToken(target, name);
  const written = readPath(target.written, at);
  if (Array.isArray(written) && written.length > 1) {
    const message = `has ${written.length} secrets already: run \`webhooks token drop ${name}\` when its senders have the first`;
    throw new ConfigError([{ file: target.file, key: toKeyPath(at), message }]);
  }
  const secret = createSecret();
  const secretFile = nameFile(target, name);
  const value = toFileReference(secretFile, path.dirname(target.file));
  const insert: Change = { kind: "insert", path: at, index: 0, value };
  const changes: Change[] = Array.isArray(written) ? [insert] : [{ kind: "wrap", path: at }, insert];
  const secretFiles = new Map([[secretFile, `${secret}\n`]]);
  return { ...planChanges(target, changes, { secretFiles }), secretFile, secret };
}

/** Plans to remove all secrets of a token but the first. Throws a `ConfigError` if it has only one. */
export function planDrop(target: Target, name: string): ConfigPlan & { dropped: number } {
  const at = locateToken(target, name);
  const written = readPath(target.written, at);
  const count = Array.isArray(written) ? written.length : 1;
  if (count < 2) {
    const message = `has only one secret: \`webhooks token rotate ${name}\` adds the next one`;
    throw new ConfigError([{ file: target.file, key: toKeyPath(at), message }]);
  }
  const indexes = Array.from({ length: count - 1 }, (_, index) => count - 1 - index);
  const changes = indexes.map((index): Change => ({ kind: "remove", path: [...at, index] }));
  return { ...planChanges(target, changes, { secretFiles: new Map() }), dropped: count - 1 };
}

/** Where the secrets of a token are written. */
function locateToken({ file, written }: Target, name: string): Segment[] {
  const hooks = toObject(written["hooks"]);
  const tokens = toObject(hooks["tokens"]);
  const names = [...(hooks["token"] === undefined ? [] : [DEFAULT_TOKEN]), ...Object.keys(tokens)];
  if (!names.includes(name)) {
    const next = names.length === 0 ? "; `webhooks init` makes the first" : didYouMean(name, names);
    throw new ConfigError([{ file, message: `there is no token "${name}"${next}` }]);
  }
  return name === DEFAULT_TOKEN ? ["hooks", "token"] : ["hooks", "tokens", name, "secret"];
}

/** A file of the state folder that does not exist yet: the older secret stays in its own until it is dropped. */
function nameFile({ stateDir }: Target, name: string): string {
  const stem = name === DEFAULT_TOKEN ? "hook-token" : `hook-token-${name.replaceAll(/[^\w-]/g, "-")}`;
  for (let number = 2; ; number++) {
    const file = path.join(stateDir, `${stem}-${number}`);
    if (!existsSync(file)) return file;
  }
}
