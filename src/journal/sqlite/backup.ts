import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { ConfigError, messageOf } from "../../errors.ts";
import { copyDatabase, openDatabase } from "./database.ts";

/** How long the copy may be waited for, in milliseconds. Nobody else uses it. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Copies an SQLite file into one new file, as it is at one moment; a service may be writing to it meanwhile. The copy appears
 * whole and checked, or not at all. Throws a `ConfigError` where it is there already, or cannot be made.
 */
export async function backUpDatabase(file: string, target: string): Promise<void> {
  if (!existsSync(file)) throw toConfigError(file, "there is no such file: nothing was written");
  if (existsSync(target)) throw toConfigError(target, "this file is there already: nothing was written");
  const partial = `${target}.partial`;
  try {
    makePrivate(partial);
    await copyDatabase(file, partial);
    finish(partial);
    renameSync(partial, target);
  } catch (error) {
    rmSync(partial, { force: true });
    throw toConfigError(target, `the backup cannot be made (${messageOf(error)})`);
  }
}

/** Payloads are in it: only its owner may read it. */
function makePrivate(file: string): void {
  rmSync(file, { force: true });
  closeSync(openSync(file, "wx", 0o600));
}

/** Makes the copy one file, without a log beside it, and checks it. */
function finish(file: string): void {
  const copy = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    copy.exec("PRAGMA journal_mode = DELETE");
    const found = copy.get("PRAGMA quick_check")?.quick_check;
    if (found !== "ok") throw new Error(`the copy is damaged: ${String(found)}`);
  } finally {
    copy.close();
  }
}

function toConfigError(file: string, message: string): ConfigError {
  return new ConfigError([{ message, file }]);
}
