import {
  APPROVAL_COLUMNS,
  DELIVERY_COLUMNS,
  ENTRY_COLUMNS,
  FAILED_REQUEST,
  FAILURE_COLUMNS,
  INDEXES,
  NARROW_TABLES,
  PENDING,
  READY,
  RUN_COLUMNS,
  WIDE_TABLES,
} from "../../core/journal/tables.ts";
import type { Schema } from "./database.ts";

/** The last time that is known of a run or delivery that waits. */
export const TRIED = "max(due_at, coalesce(started_at, 0))";

/*
 * A row that changes holds nothing wide that stays the same: SQLite rewrites a whole row at each update. So bodies and
 * actions have their own tables. An index ends with the row number, so that rows with equal values are in
 * order without another column. Events, runs and entries share one sequence of row numbers, none of which is used twice.
 */
const VERSION_1 = `
  ${toSqlite(NARROW_TABLES, "STRICT, WITHOUT ROWID")}
  ${toSqlite(WIDE_TABLES, "STRICT")}
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,                 -- UUIDv7
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,            -- its runs and deliveries that are not finished
    dead INTEGER NOT NULL,            -- its runs and deliveries that failed permanently; 1: a failed request
    canceled INTEGER NOT NULL DEFAULT 0,  -- its runs and deliveries that were canceled
    received_at INTEGER NOT NULL,
    detail TEXT NOT NULL,             -- JSON: EventDetail
    ${toSqlite(FAILURE_COLUMNS)}
  ) STRICT;
  CREATE TABLE bodies (               -- none: the body is empty
    event_seq INTEGER PRIMARY KEY,
    body BLOB NOT NULL
  ) STRICT;
  CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,               -- hook, heartbeat
    event_seq INTEGER,                -- NULL: a heartbeat
    mapping TEXT NOT NULL,            -- whose limits apply; empty: the service's own hooks, heartbeats
    ${toSqlite(RUN_COLUMNS)}
  ) STRICT;
  CREATE TABLE run_actions (          -- of all but heartbeats
    run_seq INTEGER PRIMARY KEY,
    action TEXT NOT NULL              -- JSON: AgentAction
  ) STRICT;

  CREATE TABLE joined_events (        -- what a coalesced run holds beside its own event
    run_seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    message TEXT,                     -- NULL: left out, there are too many
    access TEXT,                      -- JSON: ToolAccess; NULL: none
    PRIMARY KEY (run_seq, place)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE approvals (            -- questions to a person
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,                 -- UUIDv7
    ${toSqlite(APPROVAL_COLUMNS)}
  ) STRICT;
  CREATE UNIQUE INDEX approvals_id ON approvals (id);
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,          -- a cursor
    event_seq INTEGER,
    run_seq INTEGER,
    ${toSqlite(ENTRY_COLUMNS)}
  ) STRICT;

  CREATE TABLE totals (               -- so that nothing is counted over a million rows
    events INTEGER NOT NULL,
    pending_runs INTEGER NOT NULL,
    pending_deliveries INTEGER NOT NULL,
    pending_system_events INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,        -- of events, runs and entries
    probes INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE routes (
    seq INTEGER PRIMARY KEY,          -- the highest was used last
    channel TEXT NOT NULL,
    recipient TEXT NOT NULL,
    chosen_by TEXT NOT NULL,          -- RouteOrigin
    UNIQUE (channel, chosen_by)
  ) STRICT;

  CREATE TABLE idempotency_keys (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    receipt TEXT NOT NULL,            -- JSON: the answer to the first one
    PRIMARY KEY (scope, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    edits INTEGER,                    -- as toEditsColumn writes it; NULL: 0
    ${toSqlite(DELIVERY_COLUMNS)}
  ) STRICT;

  CREATE INDEX subscriptions_principal ON subscriptions (principal, url);

  CREATE TABLE signing_key (key BLOB NOT NULL) STRICT;

  CREATE TABLE migration (            -- to PostgreSQL
    id TEXT NOT NULL,
    is_done INTEGER NOT NULL          -- 0: a start of the service deletes it, 1: the service does not start any more
  ) STRICT;

  CREATE UNIQUE INDEX events_id ON events (id);
  CREATE INDEX events_hook ON events (hook);
  CREATE INDEX events_status ON events (status);
  CREATE INDEX events_failed ON events (id) WHERE ${FAILED_REQUEST};
  CREATE UNIQUE INDEX runs_id ON runs (id);
  CREATE INDEX runs_due ON runs (mapping, due_at) WHERE ${READY} AND not_before IS NULL;
  CREATE INDEX runs_tried ON runs (mapping, ${TRIED}) WHERE ${READY} AND not_before IS NOT NULL;
  CREATE INDEX runs_session ON runs (session_key, seq, sender) WHERE finished_at IS NULL;
  CREATE INDEX runs_state ON runs (state);
  CREATE INDEX runs_heartbeats ON runs (finished_at) WHERE event_seq IS NULL;
  CREATE INDEX entries_session ON entries (session_key);
  CREATE INDEX entries_pending ON entries (pending) WHERE pending = 1;
  CREATE INDEX entries_event ON entries (event_seq) WHERE event_seq IS NOT NULL;
  CREATE INDEX entries_loose ON entries (at) WHERE event_seq IS NULL;
  CREATE INDEX deliveries_due ON deliveries (due_at) WHERE ${PENDING} AND not_before IS NULL;
  CREATE INDEX deliveries_tried ON deliveries (${TRIED}) WHERE ${PENDING} AND not_before IS NOT NULL;
  CREATE INDEX deliveries_recipient ON deliveries (channel, recipient) WHERE finished_at IS NULL;
  CREATE INDEX deliveries_state ON deliveries (state);

  ${toSqlite(INDEXES)}
  INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0);
  INSERT INTO signing_key VALUES (randomblob(32));
  INSERT INTO publishing VALUES (lower(hex(randomblob(6))), 0, 0, '', 0);
`;

/** Definitions of PostgreSQL in SQLite's words. `options`: those of each table. */
function toSqlite(definitions: string, options = ""): string {
  return definitions
    .replaceAll("hookline.", "")
    .replaceAll(' COLLATE "C"', "")
    .replaceAll("uuid", "TEXT")
    .replaceAll(/bigint(?: GENERATED ALWAYS AS IDENTITY)?/g, "INTEGER")
    .replaceAll("double precision", "REAL")
    .replaceAll(/^ {2}\)(?: WITH \(.*\))?;/gm, `  ) ${options};`);
}

/**
 * FULL: a commit returns once the write-ahead log is on disk. `cache_size` is in KiB: a larger cache would fill with pages
 * that are not read again. `journal_size_limit` is the size in bytes to which a long log is truncated.
 */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -4096;
  PRAGMA journal_size_limit = 67108864;
`;

export const JOURNAL_SCHEMA: Schema = {
  what: "journal",
  migrations: [VERSION_1],
  pragmas: PRAGMAS,
  // 8000 pages. The longer the log, the fewer copies to the file of a page that many commits change.
  logBytes: 8000 * 4096,
};
