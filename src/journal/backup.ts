import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../errors.ts";
import { copyDatabase, openDatabase } from "../storage/database.ts";

/** How long a copy may wait for the journal, in milliseconds. Nobody else uses the copy. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Writes the journal of a state folder into one file, as it is at one moment; a service may be writing to it meanwhile.
 * The file appears whole and checked, or not at all. Throws a `ConfigError` where it is there already, or cannot be made.
 */
export async function backupJournal(folder: string, target: string): Promise<void> {
  const journal = path.join(folder, "journal.db");
  if (!existsSync(journal)) throw toConfigError(journal, "there is no journal");
  if (existsSync(target)) throw toConfigError(target, "this file is there already: nothing was written");
  const partial = `${target}.partial`;
  try {
    makePrivate(partial);
    await copyDatabase(journal, partial);
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
