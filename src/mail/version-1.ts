/** The tables of a mail store of version 1. Released with 0.1.0: it never changes, and what comes later is a migration. */
export const VERSION_1 = `
  CREATE TABLE folders (
    mailbox TEXT NOT NULL,
    folder TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    position TEXT,                    -- NULL: no batch was processed yet
    PRIMARY KEY (mailbox, folder)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE known (
    seq INTEGER PRIMARY KEY,          -- the lowest is the oldest
    digest BLOB NOT NULL UNIQUE       -- of mailbox and id
  ) STRICT;

  CREATE TABLE set_aside (
    mailbox TEXT NOT NULL,
    folder TEXT NOT NULL,
    id TEXT NOT NULL,
    status INTEGER NOT NULL,
    code TEXT NOT NULL,
    event_id TEXT,
    at INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    PRIMARY KEY (mailbox, folder, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE refresh_tokens (
    mailbox TEXT PRIMARY KEY,
    configured BLOB NOT NULL,         -- digest of the configured token that it replaces
    token TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`;
