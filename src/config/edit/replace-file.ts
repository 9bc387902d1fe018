import { randomUUID } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { ConfigError } from "../../errors.ts";

export interface ReplaceOptions {
  /** The text that the file must still have; null: there must be no file. Default: anything. */
  expected?: string | null;
  /** Default: the existing file's permissions, or 0666 less the umask. */
  mode?: number;
}

/**
 * Replaces a file atomically and durably. Keeps its owner, and follows a link. A missing folder of a file for the user alone is
 * for the user alone too. Throws a `ConfigError` if the file is not the expected one.
 */
export function replaceFile(file: string, text: string, { expected, mode }: ReplaceOptions = {}): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  const folder = path.dirname(target);
  mkdirSync(folder, { recursive: true, mode: mode === undefined ? 0o777 : 0o700 });
  const stats = statSync(target, { throwIfNoEntry: false });
  const permissions = mode ?? stats?.mode;
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    // No other user may open the file before its permissions are set.
    writeFileSync(temporary, text, { flag: "wx", mode: permissions === undefined ? 0o666 : 0o600, flush: true });
    const { uid, gid } = statSync(temporary);
    if (stats && (stats.uid !== uid || stats.gid !== gid)) chownSync(temporary, stats.uid, stats.gid);
    if (permissions !== undefined) chmodSync(temporary, permissions & 0o7777);
    requireUnchanged(target, expected);
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
  // The rename becomes durable with its folder.
  const handle = openSync(folder, "r");
  fsyncSync(handle);
  closeSync(handle);
}

function requireUnchanged(file: string, expected: string | null | undefined): void {
  if (expected === undefined) return;
  const found = existsSync(file) ? readFileSync(file, "utf8") : null;
  if (found === expected) return;
  throw new ConfigError([{ file, message: "the file has changed in the meantime: nothing was written, try again" }]);
}
