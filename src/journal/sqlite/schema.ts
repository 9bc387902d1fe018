import type { Schema } from "./database.ts";
import { EVENT_INDEX, INDEXES, migrateToVersion4, migrateToVersion5, TABLES } from "./migrations.ts";

/** The same in all versions. */
const SINCE_VERSION_1 = `
  CREATE TABLE sessions (
    key TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    entries INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_updated ON sessions (updated_at);

  CREATE TABLE routes (
    seq INTEGER PRIMARY KEY,          -- the highest was used last
    channel TEXT NOT NULL UNIQUE,
    recipient TEXT NOT NULL
  ) STRICT;

  CREATE TABLE idempotency_keys (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    receipt TEXT NOT NULL,            -- JSON: the answer to the first one
    PRIMARY KEY (scope, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

  CREATE TABLE run_starts (           -- of mappings with a rate limit, within its period
    mapping TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    run_seq INTEGER NOT NULL,
    PRIMARY KEY (mapping, started_at, run_seq)
  ) STRICT, WITHOUT ROWID;
`;

/** Later versions add others. */
const DELIVERY_COLUMNS = `
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    event_id TEXT,
    channel TEXT NOT NULL,
    recipient TEXT,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    finished_at INTEGER,
    parts_sent INTEGER NOT NULL,
    route TEXT,                       -- JSON: Route
    error TEXT,
    text TEXT NOT NULL`;

const DELIVERY_INDEXES = `
  CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'pending';
  CREATE INDEX deliveries_lane ON deliveries (channel, recipient) WHERE finished_at IS NULL;
  CREATE INDEX deliveries_state ON deliveries (state);
  CREATE INDEX deliveries_loose ON deliveries (finished_at) WHERE event_id IS NULL;
  CREATE INDEX deliveries_failed ON deliveries (id) WHERE state = 'failed';
  CREATE INDEX deliveries_event ON deliveries (event_id) WHERE event_id IS NOT NULL;
`;

const NODES_AND_LEASES = `
  CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    until INTEGER NOT NULL            -- its claims and leases end then
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL,               -- empty: released
    token INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

const VERSION_1 = `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,          -- UUIDv7
    hook TEXT NOT NULL,
    mapping TEXT,
    received_at INTEGER NOT NULL,
    replay_of TEXT,                   -- the event that this one repeats at an operator's wish
    actions TEXT NOT NULL,            -- JSON: ActionReceipt[]
    detail TEXT NOT NULL,             -- JSON: the request without its body, warnings, log, failure
    body BLOB NOT NULL
  ) STRICT;

  CREATE TABLE event_states (
    seq INTEGER PRIMARY KEY,          -- of the event
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,            -- its runs and deliveries that are not finished
    lost INTEGER NOT NULL             -- its runs and deliveries that failed for good
  ) STRICT;
  CREATE INDEX event_states_hook ON event_states (hook);
  CREATE INDEX event_states_status ON event_states (status);
  CREATE INDEX event_states_both ON event_states (hook, status);

  CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    event_id TEXT,
    hook TEXT,
    mapping TEXT NOT NULL DEFAULT '', -- whose limits hold; empty: the service's own hooks, heartbeats
    session_key TEXT NOT NULL,
    coalesce_key TEXT,                -- while later events may join it: until it is claimed, or its window is over
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    error TEXT,
    outcome TEXT                      -- JSON: reply, model, usage, warnings
  ) STRICT;
  CREATE INDEX runs_due ON runs (mapping, due_at) WHERE state = 'ready';
  CREATE INDEX runs_running ON runs (mapping) WHERE state = 'running';
  CREATE UNIQUE INDEX runs_window ON runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
  CREATE INDEX runs_lane ON runs (session_key) WHERE finished_at IS NULL;
  CREATE INDEX runs_state ON runs (state);
  CREATE INDEX runs_loose ON runs (finished_at) WHERE event_id IS NULL;
  CREATE INDEX runs_dead ON runs (id) WHERE state = 'dead' AND kind = 'hook';
  CREATE TABLE run_actions (run_seq INTEGER PRIMARY KEY, action TEXT NOT NULL) STRICT;

  CREATE TABLE joined_events (        -- what a coalesced run holds beside its own event
    run_seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    message TEXT,                     -- NULL: left out, there are too many
    PRIMARY KEY (run_seq, place)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER run_removed AFTER DELETE ON runs
    BEGIN DELETE FROM joined_events WHERE run_seq = OLD.seq; END;

  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- a cursor: never used twice, also after deletion
    session_key TEXT NOT NULL,
    role TEXT NOT NULL,
    at INTEGER NOT NULL,
    event_id TEXT,
    run_id TEXT,
    pending INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX entries_session ON entries (session_key);
  CREATE INDEX entries_turns ON entries (session_key) WHERE role <> 'system';
  CREATE INDEX entries_pending ON entries (pending) WHERE pending = 1;
  CREATE INDEX entries_loose ON entries (at) WHERE event_id IS NULL;
  CREATE INDEX entries_event ON entries (event_id) WHERE event_id IS NOT NULL;

  ${SINCE_VERSION_1}
  CREATE TABLE deliveries (${DELIVERY_COLUMNS}) STRICT;
  ${DELIVERY_INDEXES}
`;

/** Kept by triggers, so that no total is counted over a million rows. */
const VERSION_1_TOTALS = `
  CREATE TABLE totals (
    events INTEGER NOT NULL,
    pending_runs INTEGER NOT NULL,
    pending_deliveries INTEGER NOT NULL,
    pending_system_events INTEGER NOT NULL,
    probes INTEGER NOT NULL
  ) STRICT;
  INSERT INTO totals VALUES (0, 0, 0, 0, 0);
  CREATE TRIGGER event_added AFTER INSERT ON event_states
    BEGIN UPDATE totals SET events = events + 1; END;
  CREATE TRIGGER event_removed AFTER DELETE ON event_states
    BEGIN UPDATE totals SET events = events - 1; END;
  CREATE TRIGGER run_added AFTER INSERT ON runs WHEN NEW.finished_at IS NULL
    BEGIN UPDATE totals SET pending_runs = pending_runs + 1; END;
  CREATE TRIGGER run_finished AFTER UPDATE OF finished_at ON runs
    BEGIN UPDATE totals SET pending_runs = pending_runs - (OLD.finished_at IS NULL) + (NEW.finished_at IS NULL); END;
  CREATE TRIGGER delivery_added AFTER INSERT ON deliveries WHEN NEW.finished_at IS NULL
    BEGIN UPDATE totals SET pending_deliveries = pending_deliveries + 1; END;
  CREATE TRIGGER delivery_finished AFTER UPDATE OF finished_at ON deliveries
    BEGIN UPDATE totals SET pending_deliveries = pending_deliveries - (OLD.finished_at IS NULL) + (NEW.finished_at IS NULL); END;
  CREATE TRIGGER entry_added AFTER INSERT ON entries WHEN NEW.pending
    BEGIN UPDATE totals SET pending_system_events = pending_system_events + 1; END;
  CREATE TRIGGER entry_consumed AFTER UPDATE OF pending ON entries
    BEGIN UPDATE totals SET pending_system_events = pending_system_events - OLD.pending + NEW.pending; END;
`;

const VERSION_2 = `
  ALTER TABLE events ADD COLUMN credential TEXT;   -- its name
  ALTER TABLE events ADD COLUMN traceparent TEXT;
  ALTER TABLE runs ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;  -- the token of the last claim
  ALTER TABLE runs ADD COLUMN node TEXT;                          -- that made it
  ALTER TABLE deliveries ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE deliveries ADD COLUMN node TEXT;
  ${NODES_AND_LEASES}
  UPDATE idempotency_keys SET scope = 'token:default' || substr(scope, 6) WHERE scope LIKE 'token %';
`;

const VERSION_3 = `
  CREATE TABLE sent_messages (        -- of deliveries in the last hour
    id TEXT PRIMARY KEY,              -- that the channel gave
    sent_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sent_messages_age ON sent_messages (sent_at);
`;

/** Of a run that was answered by the commit that accepted it. */
const VERSION_6 = `
  ALTER TABLE runs ADD COLUMN turn TEXT;        -- JSON: Turn; NULL: its entries have rows, or it has none
  ALTER TABLE runs ADD COLUMN pending INTEGER;  -- of the summary in \`turn\`
  CREATE INDEX runs_turns ON runs (session_key) WHERE turn IS NOT NULL;
  CREATE INDEX runs_summaries ON runs (pending) WHERE pending IS NOT NULL;
`;

/** A new file has them at once: through all versions it takes six times the CPU. */
const LAST_VERSION = `
  ${TABLES}
  ${SINCE_VERSION_1}
  CREATE TABLE deliveries (${DELIVERY_COLUMNS},
    claims INTEGER NOT NULL DEFAULT 0,  -- the token of the last claim
    node TEXT,                        -- that made it
    conversation TEXT,                -- the session whose reply goes to the place of its event
    edits INTEGER,                    -- 1: it replaces the conversation's earlier message
    message_id TEXT                   -- of the first part, in a conversation
  ) STRICT;
  ${DELIVERY_INDEXES}
  ${NODES_AND_LEASES}
  ${VERSION_3}
  ${INDEXES}
  ${EVENT_INDEX}
  ${VERSION_6}
  INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0);
`;

/**
 * FULL: a commit returns once the write-ahead log is on disk. `cache_size` is in KiB: a larger cache would fill with pages
 * that are not read again. `wal_autocheckpoint` is in pages of the log: the higher it is, the fewer copies to the file of a
 * page that many commits change. `journal_size_limit` is the size in bytes to which a long log is truncated.
 */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -4096;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
`;

export const JOURNAL_SCHEMA: Schema = {
  what: "journal",
  create: LAST_VERSION,
  migrations: [VERSION_1 + VERSION_1_TOTALS, VERSION_2, VERSION_3, migrateToVersion4, migrateToVersion5, VERSION_6],
  pragmas: PRAGMAS,
  newFile: "PRAGMA page_size = 8192",
};
