import { type Database, type Migration } from "./database.ts";
import { integer, optional } from "../rows.ts";

/*
 * A row that changes holds nothing wide that stays the same: SQLite rewrites a whole row at each update. So a body or an
 * action is in a table of its own if it is wide. An index ends with the row number, so that rows with equal values are in
 * order without another column. Events, runs and entries share one sequence of row numbers.
 */
export const TABLES = `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,          -- of its inline wake too
    id TEXT NOT NULL,                 -- UUIDv7
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,            -- its runs and deliveries that are not finished
    lost INTEGER NOT NULL,            -- its runs and deliveries that failed permanently
    pending INTEGER,                  -- of its inline wake; NULL: it has none
    received_at INTEGER NOT NULL,
    detail TEXT NOT NULL,             -- JSON: EventDetail
    body BLOB                         -- NULL: in bodies
  ) STRICT;
  CREATE TABLE bodies (event_seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;

  CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    event_seq INTEGER,                -- NULL: a heartbeat
    mapping TEXT NOT NULL,            -- whose limits apply; empty: the service's own hooks, heartbeats
    session_key TEXT NOT NULL,
    coalesce_key TEXT,                -- while later events may join it: until it is claimed, or its window is over
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    claims INTEGER NOT NULL,          -- the token of the last claim
    node TEXT,                        -- that made it
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    error TEXT,
    hold_reason TEXT,                 -- of a held run, and of one that was released for good
    action TEXT,                      -- JSON; NULL: in run_actions, or a heartbeat
    outcome TEXT                      -- JSON: reply, model, usage, warnings
  ) STRICT;
  CREATE TABLE run_actions (run_seq INTEGER PRIMARY KEY, action TEXT NOT NULL) STRICT;

  CREATE TABLE joined_events (        -- what a coalesced run holds beside its own event
    run_seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    message TEXT,                     -- NULL: left out, there are too many
    PRIMARY KEY (run_seq, place)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,          -- a cursor
    session_key TEXT NOT NULL,
    role TEXT NOT NULL,
    at INTEGER NOT NULL,
    event_seq INTEGER,
    run_seq INTEGER,
    pending INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    content TEXT NOT NULL             -- JSON: Content
  ) STRICT;

  CREATE TABLE spend (                -- what finished runs used
    hour INTEGER NOT NULL,            -- its start, in milliseconds since the epoch
    session_key TEXT NOT NULL,
    hook TEXT NOT NULL,
    mapping TEXT NOT NULL,
    model TEXT NOT NULL,
    runs INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    PRIMARY KEY (hour, session_key, hook, mapping, model)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE totals (               -- so that nothing is counted over a million rows
    events INTEGER NOT NULL,
    pending_runs INTEGER NOT NULL,
    pending_deliveries INTEGER NOT NULL,
    pending_system_events INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,        -- of events, runs and entries
    probes INTEGER NOT NULL
  ) STRICT;
`;

const REPLIES = `
  ALTER TABLE deliveries ADD COLUMN conversation TEXT;  -- the session whose reply goes to the place of its event
  ALTER TABLE deliveries ADD COLUMN edits INTEGER;      -- 1: it replaces the conversation's earlier message
  ALTER TABLE deliveries ADD COLUMN message_id TEXT;    -- of the first part, in a conversation
`;

export const INDEXES = `
  CREATE UNIQUE INDEX events_id ON events (id);
  CREATE UNIQUE INDEX runs_id ON runs (id);
  CREATE INDEX runs_due ON runs (mapping, due_at) WHERE state = 'ready';
  CREATE UNIQUE INDEX runs_window ON runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
  CREATE INDEX runs_session ON runs (session_key) WHERE finished_at IS NULL;
  CREATE INDEX runs_state ON runs (state);
  CREATE INDEX runs_heartbeats ON runs (finished_at) WHERE event_seq IS NULL;
  CREATE INDEX runs_dead ON runs (id) WHERE state = 'dead' AND event_seq IS NOT NULL;
  CREATE INDEX entries_session ON entries (session_key, (role = 'system'));
  CREATE INDEX entries_pending ON entries (pending) WHERE pending = 1;
  CREATE INDEX entries_event ON entries (event_seq) WHERE event_seq IS NOT NULL;
  CREATE INDEX entries_loose ON entries (at) WHERE event_seq IS NULL;
  CREATE INDEX deliveries_conversation ON deliveries (conversation, created_at) WHERE conversation IS NOT NULL;
`;

/** Version 5 replaces them. */
const EVENT_INDEXES = `
  CREATE INDEX events_hook ON events (hook, status);
  CREATE INDEX events_status ON events (status);
  CREATE INDEX events_wakes ON events (pending) WHERE pending IS NOT NULL;
`;

/** Rows at once, between two reports. */
const BATCH = 20_000;

/** Entries keep their numbers, which are cursors. Events and runs keep theirs too: a row number is unique in its table. */
export const migrateToVersion4: Migration = (database, report) => {
  const totals = database.get("SELECT * FROM totals") ?? {};
  const lastEntry = database.get("SELECT seq FROM sqlite_sequence WHERE name = 'entries'")?.seq ?? 0;
  database.exec(`${DROP_TRIGGERS} ${RENAME} ${TABLES}`);
  for (const copy of COPIES) copyRows(database, copy, report);
  const { events, pending_runs: runs, pending_deliveries: deliveries, pending_system_events: systemEvents } = totals;
  const lastSeq = Math.max(integer(lastEntry), maxSeq(database, "events"), maxSeq(database, "runs"));
  database.run(
    "INSERT INTO totals VALUES (?, ?, ?, ?, ?, 0)",
    integer(events),
    integer(runs),
    integer(deliveries),
    integer(systemEvents),
    lastSeq,
  );
  report("building the indexes");
  database.exec(`${DROP_OLD} ${REPLIES} ${INDEXES} ${EVENT_INDEXES}`);
};

interface Copy {
  table: string;
  from: string;
  sql: string;
}

/** In batches, so that the report shows progress. SQLite moves what exceeds its cache to the write-ahead log. */
function copyRows(database: Database, { table, from, sql }: Copy, report: (progress: string) => void): void {
  const last = maxSeq(database, from);
  const first = optional(integer, database.get(`SELECT min(seq) AS seq FROM ${from}`)?.seq ?? null) ?? 1;
  for (let start = first; start <= last; start += BATCH) {
    database.run(sql, start, start + BATCH);
    report(`${table}: row ${Math.min(start + BATCH - 1, last)} of ${last}`);
  }
}

function maxSeq(database: Database, table: string): number {
  return optional(integer, database.get(`SELECT max(seq) AS seq FROM ${table}`)?.seq ?? null) ?? 0;
}

const DROP_TRIGGERS = `
  DROP TRIGGER event_added; DROP TRIGGER event_removed; DROP TRIGGER run_added; DROP TRIGGER run_finished;
  DROP TRIGGER run_removed; DROP TRIGGER delivery_added; DROP TRIGGER delivery_finished; DROP TRIGGER entry_added;
  DROP TRIGGER entry_consumed;
`;

const RENAME = `
  ALTER TABLE events RENAME TO old_events;
  ALTER TABLE runs RENAME TO old_runs;
  ALTER TABLE run_actions RENAME TO old_run_actions;
  ALTER TABLE joined_events RENAME TO old_joined_events;
  ALTER TABLE entries RENAME TO old_entries;
  DROP TABLE totals;
  DROP INDEX runs_dead; DROP INDEX runs_due; DROP INDEX runs_state; DROP INDEX runs_window;
  DROP INDEX entries_session; DROP INDEX entries_pending; DROP INDEX entries_event; DROP INDEX entries_loose;
`;

const DROP_OLD = `
  DROP TABLE old_events; DROP TABLE event_states; DROP TABLE old_runs; DROP TABLE old_run_actions;
  DROP TABLE old_joined_events; DROP TABLE old_entries;
`;

/** `MAX_INLINE` of this version. */
const MAX_INLINE = 4096;

const EVENT_SEQ = "(SELECT seq FROM old_events WHERE id = event_id)";

const COPIES: Copy[] = [
  {
    table: "events",
    from: "old_events",
    sql: `
      INSERT INTO events
      SELECT seq, id, state.hook, status, open, lost, NULL, received_at,
        json_patch(detail, json_object('mapping', mapping, 'replayOf', replay_of, 'credential', credential,
          'traceparent', traceparent, 'actions', json(actions))),
        iif(length(body) > ${MAX_INLINE}, NULL, body)
      FROM old_events JOIN event_states AS state USING (seq) WHERE seq >= ?1 AND seq < ?2 ORDER BY seq`,
  },
  {
    table: "bodies",
    from: "old_events",
    sql: `
      INSERT INTO bodies SELECT seq, body FROM old_events
      WHERE seq >= ?1 AND seq < ?2 AND length(body) > ${MAX_INLINE} ORDER BY seq`,
  },
  {
    table: "runs",
    from: "old_runs",
    sql: `
      INSERT INTO runs
      SELECT seq, id, ${EVENT_SEQ}, mapping, session_key, coalesce_key, state, attempts, claims, node, created_at, due_at,
        started_at, finished_at, error, NULL, iif(length(action) > ${MAX_INLINE}, NULL, action), outcome
      FROM old_runs LEFT JOIN old_run_actions ON run_seq = seq WHERE seq >= ?1 AND seq < ?2 ORDER BY seq`,
  },
  {
    table: "run_actions",
    from: "old_runs",
    sql: `
      INSERT INTO run_actions SELECT run_seq, action FROM old_run_actions
      WHERE run_seq >= ?1 AND run_seq < ?2 AND length(action) > ${MAX_INLINE} ORDER BY run_seq`,
  },
  {
    table: "joined_events",
    from: "old_runs",
    sql: `
      INSERT INTO joined_events SELECT run_seq, place, ${EVENT_SEQ}, message FROM old_joined_events
      WHERE run_seq >= ?1 AND run_seq < ?2 AND ${EVENT_SEQ} IS NOT NULL`,
  },
  {
    table: "entries",
    from: "old_entries",
    sql: `
      INSERT INTO entries
      SELECT seq, session_key, role, at, ${EVENT_SEQ}, (SELECT seq FROM old_runs WHERE id = run_id), pending, urgent,
        json_object('text', text)
      FROM old_entries WHERE seq >= ?1 AND seq < ?2 ORDER BY seq`,
  },
];

/*
 * Each index of `events` would be another page in each commit. So what lists are filtered by is also in a table with these
 * indexes, which is written for many events at once: see `Counters`.
 */
export const EVENT_INDEX = `
  CREATE TABLE event_index (          -- of events up to totals.last_seq
    seq INTEGER PRIMARY KEY,
    hook TEXT NOT NULL,
    status TEXT NOT NULL,
    pending INTEGER
  ) STRICT;
  CREATE INDEX event_index_hook ON event_index (hook, status);
  CREATE INDEX event_index_status ON event_index (status);
  CREATE INDEX event_index_wakes ON event_index (pending) WHERE pending IS NOT NULL;
  CREATE VIEW event_states AS         -- of all events
    SELECT seq, hook, status, pending FROM event_index
    UNION ALL SELECT seq, hook, status, pending FROM events WHERE seq > (SELECT last_seq FROM totals);
  CREATE TRIGGER event_changed AFTER UPDATE OF status, pending ON events
    WHEN NEW.status <> OLD.status OR NEW.pending IS NOT OLD.pending
    BEGIN UPDATE event_index SET status = NEW.status, pending = NEW.pending WHERE seq = NEW.seq; END;
  CREATE TRIGGER event_deleted AFTER DELETE ON events
    BEGIN DELETE FROM event_index WHERE seq = OLD.seq; END;
`;

export const migrateToVersion5: Migration = (database, report) => {
  database.exec(`DROP INDEX events_hook; DROP INDEX events_status; DROP INDEX events_wakes; ${EVENT_INDEX}`);
  copyRows(database, { table: "event_index", from: "events", sql: COPY_STATES }, report);
};

const COPY_STATES = `
  INSERT INTO event_index SELECT seq, hook, status, pending FROM events
  WHERE seq >= ?1 AND seq < ?2 AND seq <= (SELECT last_seq FROM totals)`;
