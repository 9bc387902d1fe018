import { randomUUID } from "node:crypto";
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { ConfigError } from "../../errors.ts";

/** File systems keep times more coarsely than clocks do. */
export const CLOCK_SLACK_MS = 10;

/**
 * The bytes of a file. Throws if it is not a regular file or over `maxBytes`; the message contains nothing of its content.
 * Opening a pipe would block the process, and a device may never end, so neither is opened.
 */
export function readRegularFile(file: string, maxBytes: number): Buffer {
  requireRegular(statSync(file));
  // Checked again: a pipe may have replaced it since.
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    requireRegular(fstatSync(handle));
    return readStart(handle, maxBytes);
  } finally {
    closeSync(handle);
  }
}

/**
 * The mode of a file, such as 644, if every user can read it and this one could change that. Undefined otherwise, as for the secrets
 * of a container, which it cannot write.
 */
export function findOpenMode(file: string): string | undefined {
  try {
    const { mode, uid } = statSync(file);
    const isReachable = (): boolean => isOpenToOthers(realpathSync(path.dirname(file)));
    if ((mode & 0o004) === 0 || uid !== process.getuid?.() || !isReachable()) return undefined;
    accessSync(file, constants.W_OK);
    return (mode & 0o777).toString(8);
  } catch {
    return undefined;
  }
}

/** Whether each folder on the way can be entered by every user. `folder`: its real path. */
export function isOpenToOthers(folder: string): boolean {
  const parent = path.dirname(folder);
  return (statSync(folder).mode & 0o001) !== 0 && (parent === folder || isOpenToOthers(parent));
}

function requireRegular(stats: Stats): void {
  if (!stats.isFile()) throw new Error("it is not a regular file");
}

/** Shared by all reads, which copy from it: a new buffer of this size for each small file is collected late. */
const chunk = Buffer.allocUnsafeSlow(64 * 1024);

/** Does not rely on the file's size, which is 0 for files of the kernel. */
function readStart(handle: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const read = readSync(handle, chunk);
    if (read === 0) return Buffer.concat(chunks, length);
    chunks.push(Buffer.from(chunk.subarray(0, read)));
    length += read;
    if (length > maxBytes) throw new Error(`it is over ${maxBytes} bytes`);
  }
}

/** Reads from the disk, or gives the fallback if that fails: a file may be in the place of a folder. */
export function orElse<Value>(fallback: Value, read: () => Value): Value {
  try {
    return read();
  } catch {
    return fallback;
  }
}

/** undefined: it is missing, or cannot be reached. */
export function statIfAny(file: string): Stats | undefined {
  return orElse(undefined, () => statSync(file, { throwIfNoEntry: false }));
}

/**
 * Creates a folder and those above it. Node's own way tries again and again where a file system refuses new folders with
 * ENOENT, as /proc does.
 */
export function createFolder(folder: string, mode = 0o777): void {
  if (statIfAny(folder)?.isDirectory()) return;
  const parent = path.dirname(folder);
  // Where a file is in the place of the parent, the system's own error says so.
  if (!statIfAny(parent)) createFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have created it.
    if (!statIfAny(folder)?.isDirectory()) throw error;
  }
}

/** Throws if a folder cannot be created, or not be written to. Leaves nothing. */
export function tryFolder(folder: string): void {
  if (statIfAny(folder)) return rmSync(mkdtempSync(path.join(folder, ".hookline-")), { recursive: true });
  const parent = path.dirname(folder);
  if (statIfAny(parent)) return rmSync(mkdtempSync(`${folder}-`), { recursive: true });
  tryFolder(parent);
}

export interface ReplaceOptions {
  /** The text that the file must still have; null: there must be no file. Default: anything. */
  expected?: string | null;
  /** Default: the existing file's permissions, or 0666 less the umask. */
  mode?: number;
}

/** The name of a file, also if this is the temporary one that `replaceFile` writes first. */
export function withoutTemporary(file: string): string {
  return file.replace(/\.[\da-f-]{36}\.tmp$/, "");
}

/**
 * Replaces a file atomically and durably. Keeps its owner, and follows a link. A missing folder of a file for the user alone is
 * for the user alone too. Throws a `ConfigError` if the file is not the expected one.
 */
export function replaceFile(file: string, text: string, { expected, mode }: ReplaceOptions = {}): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  const folder = path.dirname(target);
  createFolder(folder, mode === undefined ? 0o777 : 0o700);
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
  throw new ConfigError([
    { file, message: "The file has changed in the meantime, so nothing was written. Try again." },
  ]);
}

/** The folders above a file. The nearest comes first. */
export function parentsOf(file: string): string[] {
  const parent = path.dirname(file);
  return parent === file ? [] : [parent, ...parentsOf(parent)];
}

/** Whether a package manager has written it. */
export function isInstalled(file: string): boolean {
  return /(?:^|[\\/])node_modules(?:[\\/]|$)/.test(file);
}

/** The real path; undefined if there is none. */
export function toRealPath(file: string): string | undefined {
  return orElse(undefined, () => realpathSync.native(file));
}

export function isInside(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative !== "" && !relative.startsWith(`..${path.sep}`) && relative !== ".." && !path.isAbsolute(relative);
}
