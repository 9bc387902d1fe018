import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { ConfigError, messageOf } from "../errors.ts";
import { copyDatabase, openDatabase } from "./sqlite/database.ts";

const BUSY_TIMEOUT_MS = 5000;

/**
 * Copies an SQLite file to a new file, as of one point in time, while a service may be writing to it. The copy appears
 * complete and checked, or not at all. Throws a `ConfigError` if it exists already or cannot be created.
 */
export async function backUpDatabase(file: string, target: string): Promise<void> {
  if (!existsSync(file)) throw toConfigError(file, "the file does not exist: nothing was written");
  if (existsSync(target)) throw toConfigError(target, "the file exists already: nothing was written");
  const partial = `${target}.partial`;
  try {
    rmSync(partial, { force: true });
    // It holds payloads: only its owner may read it.
    closeSync(openSync(partial, "wx", 0o600));
    await copyDatabase(file, partial);
    finish(partial);
    renameSync(partial, target);
  } catch (error) {
    rmSync(partial, { force: true });
    throw toConfigError(target, `the backup cannot be written (${messageOf(error)})`);
  }
}

/** Turns the copy into a single file without a write-ahead log, and checks it. */
function finish(file: string): void {
  const copy = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    copy.exec("PRAGMA journal_mode = DELETE");
    const result = copy.get("PRAGMA quick_check")?.quick_check;
    if (result !== "ok") throw new Error(`the copy is damaged: ${String(result)}`);
  } finally {
    copy.close();
  }
}

function toConfigError(file: string, message: string): ConfigError {
  return new ConfigError([{ message, file }]);
}
