import { ConfigError } from "../../errors.ts";
import { integer } from "../../storage/columns.ts";
import type { Database } from "../../storage/database.ts";

/** Makes the tables of a new file. */
export function createTables(database: Database): void {
  if (readVersion(database) === VERSION) return;
  database.exec(`BEGIN IMMEDIATE; ${TABLES}; PRAGMA user_version = ${VERSION}; COMMIT`);
}

/** Throws a `ConfigError` where a later program wrote the file. Reads only. */
export function requireKnownVersion(database: Database, file: string): void {
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
