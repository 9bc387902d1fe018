import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../../errors.ts";
import {
  type Database,
  integer,
  type Lock,
  openDatabase,
  optional,
  takeLock,
  text,
} from "../../journal/sqlite/database.ts";
import type { MailStore, SetAside, Settlement, StoredLane } from "./store.ts";

interface Owner {
  mailbox: string;
  /** Most ids that are remembered, of all mailboxes together. */
  maxKnown: number;
}

/** What is kept of one mailbox, in an open `mail.db` that has its tables. */
function createMailStore(database: Database, owner: Owner): MailStore {
  const { mailbox } = owner;
  return {
    lane: (folder) => readLane(database, mailbox, folder),
    isKnown: (id) => {
      const digest = toDigest(mailbox, id);
      return database.get("SELECT 1 FROM known WHERE digest = ?", digest) !== undefined;
    },
    settle: (settlement) => inTransaction(database, () => keep(database, owner, settlement)),
    close: () => database.close(),
  };
}

function readLane(database: Database, mailbox: string, folder: string): StoredLane {
  const begin = "INSERT OR IGNORE INTO lanes (mailbox, folder, started_at) VALUES (?, ?, ?)";
  database.run(begin, mailbox, folder, Date.now());
  const row = database.get(
    `SELECT started_at, position,
       (SELECT count(*) FROM set_aside WHERE mailbox = lanes.mailbox AND folder = lanes.folder) AS aside
     FROM lanes WHERE mailbox = ? AND folder = ?`,
    mailbox,
    folder,
  );
  return {
    startedAt: integer(row?.["started_at"]),
    position: optional(text, row?.["position"]),
    setAside: integer(row?.["aside"]),
  };
}

function keep(database: Database, { mailbox, maxKnown }: Owner, settlement: Settlement): void {
  const { folder, ids, setAside, position } = settlement;
  for (const id of ids) {
    database.run("INSERT OR IGNORE INTO known (digest) VALUES (?)", toDigest(mailbox, id));
  }
  database.run("DELETE FROM known WHERE seq <= (SELECT max(seq) FROM known) - ?", maxKnown);
  for (const mail of setAside) keepAside(database, [mailbox, folder], mail);
  if (position === undefined) return;
  database.run("UPDATE lanes SET position = ? WHERE mailbox = ? AND folder = ?", position, mailbox, folder);
}

function keepAside(database: Database, [mailbox, folder]: [string, string], mail: SetAside): void {
  const { id, status, code, eventId, at, tries } = mail;
  database.run(
    `INSERT OR REPLACE INTO set_aside (mailbox, folder, id, status, code, event_id, at, tries)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    mailbox,
    folder,
    id,
    status,
    code,
    eventId,
    at,
    tries,
  );
}

function inTransaction(database: Database, work: () => void): void {
  try {
    database.run("BEGIN IMMEDIATE");
    work();
    database.run("COMMIT");
  } catch (error) {
    // A full disk or a failed write has rolled back by itself.
    if (database.inTransaction()) database.run("ROLLBACK");
    throw error;
  }
}

/** Half of a SHA-256: enough that no two mails of a mailbox meet by chance, nor by anybody's doing. */
function toDigest(mailbox: string, id: string): Buffer {
  return createHash("sha256").update(`${mailbox}\n${id}`).digest().subarray(0, 16);
}

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
export function openMailStore({ folder, mailbox, maxKnown = 1_000_000 }: MailStoreOptions): MailStore | undefined {
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

/** Makes the tables of a new file. */
function createTables(database: Database): void {
  if (readVersion(database) === VERSION) return;
  database.exec(`BEGIN IMMEDIATE; ${TABLES}; PRAGMA user_version = ${VERSION}; COMMIT`);
}

/** Throws a `ConfigError` where a later program wrote the file. Reads only. */
function requireKnownVersion(database: Database, file: string): void {
  const version = readVersion(database);
  if (version <= VERSION) return;
  const message =
    `the mail store has schema version ${version}, this program knows ${VERSION} and older; ` +
    "start the newer program, or name another folder";
  throw new ConfigError([{ message, file, key: "store.path" }]);
}

function readVersion(database: Database): number {
  return integer(database.get("PRAGMA user_version")?.["user_version"]);
}

const VERSION = 1;

/* `IF NOT EXISTS`: two mailboxes may be opened for the first time at once. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS lanes (
    mailbox TEXT NOT NULL,
    folder TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    position TEXT,                    -- NULL: no batch was dealt with yet
    PRIMARY KEY (mailbox, folder)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS known (
    seq INTEGER PRIMARY KEY,          -- grows with each mail: the lowest is the oldest
    digest BLOB NOT NULL UNIQUE       -- of mailbox and id
  ) STRICT;

  CREATE TABLE IF NOT EXISTS set_aside (
    mailbox TEXT NOT NULL,
    folder TEXT NOT NULL,
    id TEXT NOT NULL,
    status INTEGER NOT NULL,
    code TEXT NOT NULL,
    event_id TEXT,
    at INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    PRIMARY KEY (mailbox, folder, id)
  ) STRICT, WITHOUT ROWID`;
