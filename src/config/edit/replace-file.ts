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
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { ConfigError } from "../../errors.ts";

export interface ReplaceOptions {
  /** What it was read as; null: it was not there; undefined: whatever it is. */
  expected?: string | null;
  /** Permissions. Default: those that it has, of a new file 0666 less the umask. */
  mode?: number;
}

/**
 * Writes a file whole or not at all, and to the disk; its owner stays, and a link leads where it led. A folder that is made
 * for it is its user's alone. Throws a `ConfigError` where the file is not the expected one any more.
 */
export function replaceFile(file: string, text: string, { expected, mode }: ReplaceOptions = {}): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    write(temporary, text, { stats: statSync(target, { throwIfNoEntry: false }), mode });
    requireUnchanged(target, expected);
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
  flush(path.dirname(target));
}

function write(
  file: string,
  text: string,
  { stats, mode = stats?.mode }: { stats: Stats | undefined; mode: number | undefined },
): void {
  // Nobody else may open it before its permissions are right.
  writeFileSync(file, text, { flag: "wx", mode: mode === undefined ? 0o666 : 0o600, flush: true });
  const own = statSync(file);
  if (stats && (stats.uid !== own.uid || stats.gid !== own.gid)) chownSync(file, stats.uid, stats.gid);
  if (mode !== undefined) chmodSync(file, mode & 0o7777);
}

function requireUnchanged(file: string, expected: string | null | undefined): void {
  if (expected === undefined) return;
  const found = existsSync(file) ? readFileSync(file, "utf8") : null;
  if (found === expected) return;
  throw new ConfigError([{ file, message: "it was changed meanwhile: nothing was written; try again" }]);
}

/** A rename reaches the disk with its folder. */
function flush(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
