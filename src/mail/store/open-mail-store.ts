import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../../errors.ts";
import { type Database, openDatabase } from "../../storage/database.ts";
import { type Lock, takeLock } from "../../storage/take-lock.ts";
import { createMailStore } from "./mail-store.ts";
import type { MailStore } from "./port.ts";
import { createTables, requireKnownVersion } from "./schema.ts";

export interface MailStoreOptions {
  /** The state folder. */
  folder: string;
  /** `MailSource.mailbox` */
  mailbox: string;
  /** Most ids that are remembered; the oldest go first. Default: a million. */
  maxKnown?: number;
}

/** How long a write waits for the process that watches another mailbox. Short: the event loop waits with it. */
const BUSY_TIMEOUT_MS = 100;

/** FULL: a commit returns once the log is on the disk. */
const PRAGMAS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";

/**
 * Takes the mailbox for this process alone, and opens `mail.db` in the state folder. undefined where another process
 * watches the mailbox from this folder; the system frees it when that process ends, however it ends. Throws a
 * `ConfigError` where the file cannot be used.
 */
export function openMailStore({
  folder,
  mailbox,
  maxKnown = 1_000_000,
}: MailStoreOptions): MailStore | undefined {
  const file = path.join(folder, "mail.db");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const lock = takeLock(path.join(folder, lockName(mailbox)), 0);
    return lock && withLock(lock, () => createMailStore(open(file), { mailbox, maxKnown }));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const message = `the mail store cannot be used (${messageOf(error)})`;
    throw new ConfigError([{ message, file, key: "store.path" }]);
  }
}

function lockName(mailbox: string): string {
  return `mail-${createHash("sha256").update(mailbox).digest("hex").slice(0, 16)}.lock`;
}

/** The store lets go of the mailbox when it is closed. */
function withLock(lock: Lock, create: () => MailStore): MailStore {
  try {
    const store = create();
    return {
      ...store,
      close() {
        store.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function open(file: string): Database {
  if (existsSync(file)) inspect(file);
  const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  return closedUnless(database, () => {
    database.exec(PRAGMAS);
    createTables(database);
  });
}

/** Through a connection that cannot write: a later program's file is left as it is. */
function inspect(file: string): void {
  const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS, readOnly: true });
  closedUnless(database, () => requireKnownVersion(database, file)).close();
}

function closedUnless(database: Database, prepare: () => void): Database {
  try {
    prepare();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
