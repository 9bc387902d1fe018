import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { ConfigError, messageOf } from "../core/errors.ts";
import { createFolder } from "../core/shared/system/files.ts";
import { type Log, silentLog } from "../core/telemetry/log.ts";
import { copyAndLog } from "../stores/sqlite/upgrade-copy.ts";
import { type Database, type Lock, openMigrated, type Schema, takeLock, transact } from "../stores/sqlite/database.ts";
import { integer, optional, text } from "../core/journal/columns.ts";
import type { RefreshTokens } from "../core/ports/mail-source.ts";
import { VERSION_1 } from "./version-1.ts";

/**
 * The stored state of one mailbox between starts. Only one process has the store of a mailbox open. Each call rejects
 * if the store cannot be read or written.
 */
export interface MailStore {
  /** The state of a folder, which is stored if it is new. */
  folder(name: string): Promise<StoredFolder>;
  /** Finds the ids whose mails were processed, in any folder. */
  findKnown(ids: string[]): Promise<Set<string>>;
  /** Stores all of it, or nothing; resolves once it is on disk. */
  record(result: BatchResult): Promise<void>;
  refreshTokens: RefreshTokens;
  close(): Promise<void>;
}

interface StoredFolder {
  /** When it was first followed, in milliseconds since the epoch. */
  startedAt: number;
  /** How far it is read; undefined: no batch was processed yet. */
  position: string | undefined;
  /** How many of its mails are set aside. */
  setAside: number;
}

/** The results of some mails of a folder. */
interface BatchResult {
  folder: string;
  /** Ids of the processed mails, including those set aside. */
  ids: string[];
  setAside: RejectedMail[];
  /** How far the folder is read now; absent: unchanged. */
  position?: string;
}

/** A mail that the service rejects permanently. */
export interface RejectedMail {
  id: string;
  /** The response to a request with this mail alone. */
  status: number;
  /** The response's `code`, empty if it had none. */
  code: string;
  /** The event that stores the rejected request, if known: for `webhooks events replay`. */
  eventId: string | undefined;
  /** Milliseconds since the epoch. */
  at: number;
  tries: number;
}

export const MAX_KNOWN = 1_000_000;

export interface MailStoreOptions {
  folder: string;
  mailbox: string;
  /** How many ids are remembered, of all mailboxes together. Default: a million. */
  maxKnown?: number;
  log?: Log;
}

/**
 * Opens the store of a mailbox, `mail.db` in the state folder, for this process alone; undefined while another process has it. The
 * system releases the lock if the process is killed. Rejects with a `ConfigError` if the store cannot be used.
 */
export async function openMailStore(options: MailStoreOptions): Promise<MailStore | undefined> {
  const { folder, mailbox, log = silentLog } = options;
  const file = path.join(folder, "mail.db");
  let lock: Lock | undefined;
  try {
    createFolder(folder, 0o700);
    lock = takeLock(path.join(folder, `mail-${hash("sha256", mailbox).slice(0, 16)}.lock`), 0);
    return lock && createMailStore(openMigrated(file, SCHEMA, copyAndLog(log)), options, lock.release);
  } catch (error) {
    lock?.release();
    if (error instanceof ConfigError) throw error;
    const message = `the mail store cannot be used (${messageOf(error)})`;
    throw new ConfigError([{ message, file, key: "store.path" }]);
  }
}

/** The refresh tokens of a mailbox, also while another process has its store: each call opens the file. */
export function createRefreshTokens({ folder, mailbox, log = silentLog }: MailStoreOptions): RefreshTokens {
  const call = async <Result>(work: (tokens: RefreshTokens) => Promise<Result>): Promise<Result> => {
    createFolder(folder, 0o700);
    const database = openMigrated(path.join(folder, "mail.db"), SCHEMA, copyAndLog(log));
    try {
      return await work(refreshTokensIn(database, mailbox));
    } finally {
      database.close();
    }
  };
  return {
    find: (configured) => call((tokens) => tokens.find(configured)),
    replace: (configured, token) => call((tokens) => tokens.replace(configured, token)),
  };
}

/** The file of all mailboxes in a state folder; undefined if there is none. */
export function openMailFile(folder: string): Database | undefined {
  const file = path.join(folder, "mail.db");
  return existsSync(file) ? openMigrated(file, SCHEMA) : undefined;
}

function createMailStore(
  database: Database,
  { mailbox, maxKnown = MAX_KNOWN }: MailStoreOptions,
  release: () => void,
): MailStore {
  const { get, run } = database;
  return {
    async folder(name) {
      run("INSERT OR IGNORE INTO folders (mailbox, folder, started_at) VALUES (?, ?, ?)", mailbox, name, Date.now());
      const row = get(
        `SELECT started_at, position,
           (SELECT count(*) FROM set_aside WHERE mailbox = folders.mailbox AND folder = folders.folder) AS set_aside
         FROM folders WHERE mailbox = ? AND folder = ?`,
        mailbox,
        name,
      );
      return {
        startedAt: integer(row?.started_at),
        position: optional(text, row?.position),
        setAside: integer(row?.set_aside),
      };
    },
    async findKnown(ids) {
      return new Set(ids.filter((id) => get("SELECT 1 FROM known WHERE digest = ?", toDigest(mailbox, id))));
    },
    async record({ folder, ids, setAside, position }) {
      transact(database, () => {
        for (const id of ids) run("INSERT OR IGNORE INTO known (digest) VALUES (?)", toDigest(mailbox, id));
        run("DELETE FROM known WHERE seq <= (SELECT max(seq) FROM known) - ?", maxKnown);
        for (const { id, status, code, eventId, at, tries } of setAside) {
          run(INSERT_SET_ASIDE, mailbox, folder, id, status, code, eventId, at, tries);
        }
        if (position === undefined) return;
        run("UPDATE folders SET position = ? WHERE mailbox = ? AND folder = ?", position, mailbox, folder);
      });
    },
    refreshTokens: refreshTokensIn(database, mailbox),
    async close() {
      database.close();
      release();
    },
  };
}

function refreshTokensIn({ get, run }: Database, mailbox: string): RefreshTokens {
  return {
    async find(configured) {
      const statement = "SELECT token FROM refresh_tokens WHERE mailbox = ? AND configured = ?";
      const row = get(statement, mailbox, toDigest(mailbox, configured));
      return row && text(row.token);
    },
    async replace(configured, token) {
      const statement = "INSERT OR REPLACE INTO refresh_tokens (mailbox, configured, token) VALUES (?, ?, ?)";
      run(statement, mailbox, toDigest(mailbox, configured), token);
    },
  };
}

const INSERT_SET_ASIDE = `
  INSERT OR REPLACE INTO set_aside (mailbox, folder, id, status, code, event_id, at, tries)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

/** Half of a SHA-256: enough to exclude collisions, also deliberate ones. */
export function toDigest(mailbox: string, id: string): Buffer {
  return hash("sha256", `${mailbox}\n${id}`, "buffer").subarray(0, 16);
}

/** FULL: a commit returns once the write-ahead log is on disk. */
const SCHEMA: Schema = {
  what: "mail store",
  migrations: [VERSION_1],
  pragmas: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
};
