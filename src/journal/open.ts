import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { ConfigError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import { type Lock, takeLock } from "../storage/take-lock.ts";
import { releaseDeliveries } from "./deliveries.ts";
import { releaseRuns } from "./runs.ts";
import { migrate, requireKnownVersion } from "./schema.ts";

/** How long a write waits for another process's lock. Short: the event loop waits with it. */
const BUSY_TIMEOUT_MS = 100;
/** How long a predecessor that was just killed may take to let go of the folder. */
const HANDOVER_MS = 500;

/**
 * FULL: a commit returns once the log is on the disk. The cache is in KiB. The limit, in bytes, is what a log that a
 * burst made long is cut back to.
 */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -16384;
  PRAGMA journal_size_limit = 67108864;
`;

export interface Store {
  database: Database;
  close(): void;
}

/**
 * Makes the folder, takes it for this process alone, and opens `journal.db` in it: brought to this version, and what a
 * former process left half done ready to start again. Throws a `ConfigError` where any of that cannot be.
 */
export function openStore(folder: string, log: Log): Store {
  makeFolder(folder, log);
  const lock = takeFolder(folder);
  const file = path.join(folder, "journal.db");
  try {
    const database = openJournal(file, log);
    return { database, close: () => closeAll(database, lock) };
  } catch (error) {
    lock.release();
    throw error instanceof ConfigError ? error : toConfigError(file, "the journal cannot be opened", error);
  }
}

function makeFolder(folder: string, log: Log): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw toConfigError(folder, "the state folder cannot be made, or not be written to", error);
  }
  // A folder that was there before keeps its mode: it may be shared on purpose.
  if ((statSync(folder).mode & 0o077) !== 0) log.warn("others can reach the state folder", { folder });
}

/** Two processes would claim the same runs. The lock stands beside `journal.db`, which stays readable for others. */
function takeFolder(folder: string): Lock {
  const file = path.join(folder, "owner.lock");
  const lock = openLock(file);
  if (lock) return lock;
  const message = "another process owns this state folder; stop it, or name another folder";
  throw new ConfigError([{ message, file, key: "store.path" }]);
}

function openLock(file: string): Lock | undefined {
  try {
    return takeLock(file, HANDOVER_MS);
  } catch (error) {
    throw toConfigError(file, "the state folder cannot be used", error);
  }
}

function openJournal(file: string, log: Log): Database {
  if (existsSync(file)) inspect(file);
  const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    migrate(database);
    database.exec(PRAGMAS);
    recover(database, log);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Through a connection that cannot write: a later program's file is left as it is. */
function inspect(file: string): void {
  const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS, readOnly: true });
  try {
    requireKnownVersion(database, file);
  } finally {
    database.close();
  }
}

function recover(database: Database, log: Log): void {
  const runs = releaseRuns(database);
  const deliveries = releaseDeliveries(database);
  if (runs + deliveries > 0) log.info("taking up what was left half done", { runs, deliveries });
}

function closeAll(database: Database, lock: Lock): void {
  database.close();
  lock.release();
}

function toConfigError(file: string, what: string, error: unknown): ConfigError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConfigError([{ message: `${what} (${reason})`, file, key: "store.path" }]);
}
