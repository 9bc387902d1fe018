/**
 * The tables of an SQLite journal of version 1. Released with 0.1.0: it never changes, and what comes later is a migration.
 *
 * A row that changes holds nothing wide that stays the same: SQLite rewrites a whole row at each update. So bodies and
 * actions have their own tables. An index ends with the row number, so that rows with equal values are in
 * order without another column. Events, runs and entries share one sequence of row numbers, none of which is used twice.
 */
export const VERSION_1 = `
  CREATE TABLE pauses (               -- mappings whose runs are not claimed
    mapping TEXT PRIMARY KEY,
    since INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE run_starts (           -- of mappings with a rate limit, within its period
    mapping TEXT NOT NULL,
    started_at INTEGER NOT NULL,      -- by the store's clock
    run_seq INTEGER NOT NULL,
    PRIMARY KEY (mapping, started_at, run_seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE failed_attempts (      -- the last ones of each run and delivery
    work_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,                 -- NULL: its process ended during it
    error TEXT NOT NULL,
    warnings TEXT,                    -- JSON
    PRIMARY KEY (work_id, n)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE lives (                -- how long processes lived
    node TEXT NOT NULL,
    started_at INTEGER NOT NULL,      -- by the store's clock
    seen_at INTEGER NOT NULL,         -- the last sign of life
    suspect TEXT,                     -- the run or delivery that was executed alone meanwhile
    state TEXT NOT NULL,              -- LifeState
    PRIMARY KEY (node, started_at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX lives_seen ON lives (seen_at);

  CREATE TABLE approval_codes (       -- of questions of the last 30 days
    code TEXT PRIMARY KEY,
    reserved_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE buttons (              -- below the messages that ask
    hash TEXT PRIMARY KEY,            -- SHA-256 of its value
    approval_id TEXT NOT NULL,
    decision TEXT NOT NULL,
    drawn_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX buttons_drawn ON buttons (drawn_at);

  CREATE TABLE sessions (
    key TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    entries INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_updated ON sessions (updated_at);

  CREATE TABLE sent_messages (        -- of deliveries
    id TEXT NOT NULL,                 -- that the channel gave
    channel TEXT NOT NULL,            -- two accounts may give the same
    recipient TEXT NOT NULL,          -- as its delivery names it
    thread TEXT,                      -- that it is in or has opened, if it belongs into that of its session
    session_key TEXT,                 -- of its run, while the session is kept; never the main session
    sent_at INTEGER NOT NULL,
    change TEXT,                      -- JSON: KeptChange; NULL: a message
    PRIMARY KEY (id, channel)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sent_messages_recipient ON sent_messages (recipient, channel) WHERE session_key IS NOT NULL;
  CREATE INDEX sent_messages_thread ON sent_messages (thread, channel) WHERE thread IS NOT NULL;
  CREATE INDEX sent_messages_session ON sent_messages (session_key, channel, recipient)
    WHERE session_key IS NOT NULL;
  CREATE INDEX sent_messages_age ON sent_messages (sent_at) WHERE session_key IS NULL;

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

  CREATE TABLE tallies (              -- counts of the last days that are no rows
    at INTEGER NOT NULL,              -- the start of its five minutes, in milliseconds since the epoch
    mapping TEXT NOT NULL,            -- empty: none, or any
    what TEXT NOT NULL,               -- TallyName
    n INTEGER NOT NULL,
    PRIMARY KEY (at, mapping, what)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE publication_types (
    name TEXT PRIMARY KEY,
    payload_schema TEXT NOT NULL      -- JSON Schema
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE subscriptions (
    id TEXT PRIMARY KEY,
    generation TEXT NOT NULL,
    principal TEXT NOT NULL,
    url TEXT NOT NULL,
    terms TEXT NOT NULL,              -- JSON: SubscriptionTerms
    progress TEXT NOT NULL            -- JSON: SubscriptionProgress
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE answers (              -- of mappings that answer with the reply of a run
    event_id TEXT PRIMARY KEY,
    answer TEXT NOT NULL              -- JSON: Answer, or null for the usual one
  ) STRICT;

  CREATE TABLE steps (                -- of runs with context or calls
    run_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,             -- JSON: Step
    PRIMARY KEY (run_id, n)
  ) STRICT;

  CREATE TABLE state (                -- what transforms keep
    name TEXT NOT NULL,               -- of the state
    key TEXT NOT NULL,
    version TEXT NOT NULL,            -- the id of the event that set it
    expires_at INTEGER,               -- by the store's clock; NULL: never
    value TEXT NOT NULL,              -- JSON
    PRIMARY KEY (name, key)
  ) STRICT;
  CREATE INDEX state_expiry ON state (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE notes (                -- what the service remembers for itself
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    expires_at INTEGER,               -- NULL: never
    value TEXT NOT NULL,              -- JSON
    PRIMARY KEY (kind, key)
  ) STRICT;
  CREATE INDEX notes_expiry ON notes (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE publications (         -- what accepted events tell subscribers
    seq INTEGER PRIMARY KEY,
    position INTEGER,                 -- in the order of delivery; NULL: not numbered yet
    id TEXT NOT NULL,                 -- of the event, or <id>.<index>
    name TEXT NOT NULL,
    arguments TEXT NOT NULL,          -- JSON: EventArguments
    data TEXT,                        -- JSON: an object; NULL: the arguments
    at INTEGER NOT NULL,
    via TEXT NOT NULL                 -- JSON: ids of stores
  ) STRICT;
  CREATE UNIQUE INDEX publications_position ON publications (position) WHERE position IS NOT NULL;
  CREATE INDEX publications_name ON publications (name, position) WHERE position IS NOT NULL;
  CREATE INDEX publications_unnumbered ON publications (seq) WHERE position IS NULL;
  CREATE INDEX publications_age ON publications (at);

  CREATE TABLE publishing (           -- one row
    store_id TEXT NOT NULL,
    position INTEGER NOT NULL,        -- the highest that was given
    swept INTEGER NOT NULL,           -- the highest that was deleted
    swept_id TEXT NOT NULL,           -- of the publication that had it
    version INTEGER NOT NULL          -- of the subscriptions
  ) STRICT;

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

    failure_group TEXT,               -- its error, as toFailureGroup writes it
    replay_id TEXT                    -- the event of its replay that was accepted
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

    session_key TEXT NOT NULL,
    sender TEXT NOT NULL DEFAULT '',  -- of its event, as senderOf names it
    coalesce_key TEXT,                -- while later events may join it: until it is claimed, or its window is over
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    claims INTEGER NOT NULL DEFAULT 0,  -- the token of the last claim
    interruptions INTEGER NOT NULL DEFAULT 0,  -- its last attempts, if the process ended during each of them
    interrupted_at INTEGER,           -- the first of these, by the store's clock
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,          -- its place in the order: the arrival, also of one that waits; by the store's clock
    not_before INTEGER,               -- the end of its window, or the time of a retry; by the same clock; NULL: at once
    started_at INTEGER,
    finished_at INTEGER,
    hold_reason TEXT,                 -- of a held run, and of one that is not held again
    unavailable_since INTEGER,        -- by the store's clock: the start of an outage of its model's provider; NULL: it has answered since
    waiting_for TEXT,                 -- that provider
    outcome TEXT,                     -- JSON: reply, model, usage, warnings
    error_group TEXT,                 -- of a dead run: its error, as toErrorGroup writes it
    error TEXT
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

    mapping TEXT NOT NULL,
    code TEXT NOT NULL,
    state TEXT NOT NULL,
    run_id TEXT NOT NULL,
    event_id TEXT,
    expires_at INTEGER,               -- by the store's clock; NULL: never
    question_id TEXT,                 -- the delivery that asks
    detail TEXT NOT NULL,             -- JSON: what is asked
    decision TEXT                     -- JSON: how it has ended; NULL: it is open
  ) STRICT;
  CREATE UNIQUE INDEX approvals_id ON approvals (id);
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,          -- a cursor
    event_seq INTEGER,
    run_seq INTEGER,

    session_key TEXT NOT NULL,
    role TEXT NOT NULL,
    at INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    urgent INTEGER NOT NULL,
    boundary TEXT,                    -- JSON: the safety boundary around the text
    sources TEXT,                     -- JSON: the private sources that the text was made from; NULL: none
    text TEXT NOT NULL
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

    run_id TEXT NOT NULL,
    event_id TEXT,
    channel TEXT NOT NULL,
    recipient TEXT,
    route_by TEXT,                    -- RouteOrigin; NULL: its route is not remembered
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    claims INTEGER NOT NULL DEFAULT 0,  -- the token of the last claim
    interruptions INTEGER NOT NULL DEFAULT 0,  -- its last attempts, if the process ended during each of them
    interrupted_at INTEGER,           -- the first of these, by the store's clock
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,          -- its place in the order: the arrival, as of a run
    not_before INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    parts_sent INTEGER NOT NULL,
    route TEXT,                       -- JSON: Route
    error TEXT,
    error_group TEXT,                 -- of a failed one
    warnings TEXT,                    -- JSON: list of sentences
    conversation TEXT,                -- the session whose reply goes to the place of its event
    ends TEXT,                        -- the question whose end it writes into the message that asks
    addressee TEXT,                   -- who is answered there: the recipient without its thread, in lower case
    message_id TEXT,                  -- of each part, a line each, in a conversation or of a question
    text TEXT NOT NULL
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
  CREATE INDEX events_failed ON events (id) WHERE dead > 0 AND failure_group IS NOT NULL;
  CREATE UNIQUE INDEX runs_id ON runs (id);
  CREATE INDEX runs_due ON runs (mapping, due_at) WHERE state = 'ready' AND interruptions < 3 AND not_before IS NULL;
  CREATE INDEX runs_tried ON runs (mapping, max(due_at, coalesce(started_at, 0))) WHERE state = 'ready' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX runs_session ON runs (session_key, seq, sender) WHERE finished_at IS NULL;
  CREATE INDEX runs_state ON runs (state);
  CREATE INDEX runs_heartbeats ON runs (finished_at) WHERE event_seq IS NULL;
  CREATE INDEX entries_session ON entries (session_key);
  CREATE INDEX entries_pending ON entries (pending) WHERE pending = 1;
  CREATE INDEX entries_event ON entries (event_seq) WHERE event_seq IS NOT NULL;
  CREATE INDEX entries_loose ON entries (at) WHERE event_seq IS NULL;
  CREATE INDEX deliveries_due ON deliveries (due_at) WHERE state = 'pending' AND interruptions < 3 AND not_before IS NULL;
  CREATE INDEX deliveries_tried ON deliveries (max(due_at, coalesce(started_at, 0))) WHERE state = 'pending' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX deliveries_recipient ON deliveries (channel, recipient) WHERE finished_at IS NULL;
  CREATE INDEX deliveries_state ON deliveries (state);

  CREATE INDEX approvals_run ON approvals (run_id);
  CREATE INDEX approvals_code ON approvals (code, id);
  CREATE INDEX approvals_open ON approvals (mapping) WHERE state = 'open';
  CREATE INDEX runs_later ON runs (mapping, not_before) WHERE state = 'ready' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX runs_suspect ON runs (id) WHERE state = 'ready' AND interruptions >= 3;
  CREATE UNIQUE INDEX runs_window ON runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
  CREATE INDEX runs_dead ON runs (id) WHERE state = 'dead' AND kind = 'hook';
  CREATE INDEX entries_main_turns ON entries (seq) WHERE role <> 'system' AND session_key = 'main';
  CREATE INDEX deliveries_later ON deliveries (not_before) WHERE state = 'pending' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX deliveries_suspect ON deliveries (id) WHERE state = 'pending' AND interruptions >= 3;
  CREATE INDEX deliveries_conversation ON deliveries (conversation, created_at) WHERE conversation IS NOT NULL;
  CREATE INDEX deliveries_answers ON deliveries (channel, addressee, created_at) WHERE addressee IS NOT NULL;
  CREATE INDEX deliveries_loose ON deliveries (finished_at) WHERE event_id IS NULL;
  CREATE INDEX deliveries_failed ON deliveries (id) WHERE state = 'failed';
  CREATE INDEX deliveries_event ON deliveries (event_id) WHERE event_id IS NOT NULL;
  CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

  INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0);
  INSERT INTO signing_key VALUES (randomblob(32));
  INSERT INTO publishing VALUES (lower(hex(randomblob(6))), 0, 0, '', 0);
`;
