import { openDatabase } from "./database.ts";
import { resultCode } from "./result-code.ts";

export interface Lock {
  release(): void;
}

/** SQLite's result code for a file that another connection has locked. */
const LOCKED = 5;

/**
 * Takes a file for this process alone; undefined where another process has it. The lock is SQLite's own: the system
 * releases it when the process ends, however it ends. Waits `waitMs` for a predecessor, and the event loop waits with it.
 * Throws where the file cannot be made or opened.
 */
export function takeLock(file: string, waitMs: number): Lock | undefined {
  const database = openDatabase(file, { busyTimeoutMs: waitMs });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (resultCode(error) === LOCKED) return undefined;
    throw error;
  }
}
