import { hash } from "node:crypto";
import { MAIN_SESSION } from "../types.ts";

/* Equal in both stores, in PostgreSQL's words. It belongs to version 1 of each schema. */

/** Tables with small rows that are found by their key. */
export const NARROW_TABLES = `
  CREATE TABLE hookline.pauses (      -- mappings whose runs are not claimed
    mapping text COLLATE "C" PRIMARY KEY,
    since bigint NOT NULL
  );

  CREATE TABLE hookline.run_starts (  -- of mappings with a rate limit, within its period
    mapping text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,       -- by the store's clock
    run_seq bigint NOT NULL,
    PRIMARY KEY (mapping, started_at, run_seq)
  );

  CREATE TABLE hookline.failed_attempts (  -- the last ones of each run and delivery
    work_id uuid NOT NULL,
    n integer NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,                  -- NULL: its process ended during it
    error text NOT NULL,
    warnings text,                    -- JSON
    PRIMARY KEY (work_id, n)
  );

  CREATE TABLE hookline.lives (       -- how long processes lived
    node text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,       -- by the store's clock
    seen_at bigint NOT NULL,          -- the last sign of life
    suspect uuid,                     -- the run or delivery that was executed alone meanwhile
    state text NOT NULL,              -- LifeState
    PRIMARY KEY (node, started_at)
  );
  CREATE INDEX lives_seen ON hookline.lives (seen_at);

  CREATE TABLE hookline.approval_codes (  -- of questions of the last 30 days
    code text COLLATE "C" PRIMARY KEY,
    reserved_at bigint NOT NULL
  );

  CREATE TABLE hookline.buttons (     -- below the messages that ask
    hash text COLLATE "C" PRIMARY KEY,  -- SHA-256 of its value
    approval_id uuid NOT NULL,
    decision text NOT NULL,
    drawn_at bigint NOT NULL
  );
  CREATE INDEX buttons_drawn ON hookline.buttons (drawn_at);

  CREATE TABLE hookline.sessions (
    key text COLLATE "C" PRIMARY KEY,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    entries integer NOT NULL
  ) WITH (fillfactor = 70);
  CREATE INDEX sessions_updated ON hookline.sessions (updated_at);

  CREATE TABLE hookline.sent_messages (  -- of deliveries
    id text COLLATE "C" NOT NULL,     -- that the channel gave
    channel text COLLATE "C" NOT NULL,  -- two accounts may give the same
    recipient text COLLATE "C" NOT NULL,  -- as its delivery names it
    thread text COLLATE "C",          -- that it is in or has opened, if it belongs into that of its session
    session_key text COLLATE "C",     -- of its run, while the session is kept; never the main session
    sent_at bigint NOT NULL,
    change text,                      -- JSON: KeptChange; NULL: a message
    PRIMARY KEY (id, channel)
  );
  CREATE INDEX sent_messages_recipient ON hookline.sent_messages (recipient, channel) WHERE session_key IS NOT NULL;
  CREATE INDEX sent_messages_thread ON hookline.sent_messages (thread, channel) WHERE thread IS NOT NULL;
  CREATE INDEX sent_messages_session ON hookline.sent_messages (session_key, channel, recipient)
    WHERE session_key IS NOT NULL;
  CREATE INDEX sent_messages_age ON hookline.sent_messages (sent_at) WHERE session_key IS NULL;

  CREATE TABLE hookline.spend (       -- what finished runs used
    hour bigint NOT NULL,             -- its start, in milliseconds since the epoch
    session_key text COLLATE "C" NOT NULL,
    hook text NOT NULL,
    mapping text NOT NULL,
    model text NOT NULL,
    runs bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cost double precision NOT NULL,
    PRIMARY KEY (hour, session_key, hook, mapping, model)
  ) WITH (fillfactor = 70);

  CREATE TABLE hookline.tallies (     -- counts of the last days that are no rows
    at bigint NOT NULL,               -- the start of its five minutes, in milliseconds since the epoch
    mapping text COLLATE "C" NOT NULL,  -- empty: none, or any
    what text COLLATE "C" NOT NULL,   -- TallyName
    n bigint NOT NULL,
    PRIMARY KEY (at, mapping, what)
  ) WITH (fillfactor = 70);

  CREATE TABLE hookline.publication_types (
    name text COLLATE "C" PRIMARY KEY,
    payload_schema text NOT NULL      -- JSON Schema
  );

  CREATE TABLE hookline.subscriptions (
    id text COLLATE "C" PRIMARY KEY,
    generation text NOT NULL,
    principal text COLLATE "C" NOT NULL,
    url text COLLATE "C" NOT NULL,
    terms text NOT NULL,              -- JSON: SubscriptionTerms
    progress text NOT NULL            -- JSON: SubscriptionProgress
  ) WITH (fillfactor = 70);
`;

/** The other tables. */
export const WIDE_TABLES = `
  CREATE TABLE hookline.answers (     -- of mappings that answer with the reply of a run
    event_id uuid PRIMARY KEY,
    answer text NOT NULL              -- JSON: Answer, or null for the usual one
  );

  CREATE TABLE hookline.steps (       -- of runs with context or calls
    run_id uuid NOT NULL,
    n integer NOT NULL,
    state text NOT NULL,
    detail text NOT NULL,             -- JSON: Step
    PRIMARY KEY (run_id, n)
  );

  CREATE TABLE hookline.state (       -- what transforms keep
    name text COLLATE "C" NOT NULL,   -- of the state
    key text COLLATE "C" NOT NULL,
    version text NOT NULL,            -- the id of the event that set it
    expires_at bigint,                -- by the store's clock; NULL: never
    value text NOT NULL,              -- JSON
    PRIMARY KEY (name, key)
  ) WITH (fillfactor = 70);
  CREATE INDEX state_expiry ON hookline.state (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE hookline.notes (       -- what the service remembers for itself
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    expires_at bigint,                -- NULL: never
    value text NOT NULL,              -- JSON
    PRIMARY KEY (kind, key)
  );
  CREATE INDEX notes_expiry ON hookline.notes (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE hookline.publications (  -- what accepted events tell subscribers
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    position bigint,                  -- in the order of delivery; NULL: not numbered yet
    id text NOT NULL,                 -- of the event, or <id>.<index>
    name text COLLATE "C" NOT NULL,
    arguments text NOT NULL,          -- JSON: EventArguments
    data text,                        -- JSON: an object; NULL: the arguments
    at bigint NOT NULL,
    via text NOT NULL                 -- JSON: ids of stores
  ) WITH (fillfactor = 70);
  CREATE UNIQUE INDEX publications_position ON hookline.publications (position) WHERE position IS NOT NULL;
  CREATE INDEX publications_name ON hookline.publications (name, position) WHERE position IS NOT NULL;
  CREATE INDEX publications_unnumbered ON hookline.publications (seq) WHERE position IS NULL;
  CREATE INDEX publications_age ON hookline.publications (at);

  CREATE TABLE hookline.publishing (  -- one row
    store_id text NOT NULL,
    position bigint NOT NULL,         -- the highest that was given
    swept bigint NOT NULL,            -- the highest that was deleted
    swept_id text NOT NULL,           -- of the publication that had it
    version bigint NOT NULL           -- of the subscriptions
  ) WITH (fillfactor = 50);
`;

/* Columns of tables that otherwise differ: in their keys, and in how they name rows of each other. */

export const RUN_COLUMNS = `
    session_key text COLLATE "C" NOT NULL,
    sender text COLLATE "C" NOT NULL DEFAULT '',  -- of its event, as senderOf names it
    coalesce_key text COLLATE "C",    -- while later events may join it: until it is claimed, or its window is over
    state text NOT NULL,
    attempts integer NOT NULL,
    claims bigint NOT NULL DEFAULT 0, -- the token of the last claim
    interruptions integer NOT NULL DEFAULT 0,  -- its last attempts, if the process ended during each of them
    interrupted_at bigint,            -- the first of these, by the store's clock
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,           -- its place in the order: the arrival, also of one that waits; by the store's clock
    not_before bigint,                -- the end of its window, or the time of a retry; by the same clock; NULL: at once
    started_at bigint,
    finished_at bigint,
    hold_reason text,                 -- of a held run, and of one that is not held again
    unavailable_since bigint,         -- by the store's clock: the start of an outage of its model's provider; NULL: it has answered since
    waiting_for text,                 -- that provider
    outcome text,                     -- JSON: reply, model, usage, warnings
    error_group text,                 -- of a dead run: its error, as toErrorGroup writes it
    error text`;

/** The columns of a request whose transform failed. */
export const FAILURE_COLUMNS = `
    failure_group text,               -- its error, as toFailureGroup writes it
    replay_id uuid                    -- the event of its replay that was accepted`;

export const APPROVAL_COLUMNS = `
    mapping text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL,
    state text NOT NULL,
    run_id uuid NOT NULL,
    event_id uuid,
    expires_at bigint,                -- by the store's clock; NULL: never
    question_id uuid,                 -- the delivery that asks
    detail text NOT NULL,             -- JSON: what is asked
    decision text                     -- JSON: how it has ended; NULL: it is open`;

export const ENTRY_COLUMNS = `
    session_key text COLLATE "C" NOT NULL,
    role text NOT NULL,
    at bigint NOT NULL,
    pending integer NOT NULL,
    urgent integer NOT NULL,
    boundary text,                    -- JSON: the safety boundary around the text
    sources text,                     -- JSON: the private sources that the text was made from; NULL: none
    text text NOT NULL`;

export const DELIVERY_COLUMNS = `
    run_id uuid NOT NULL,
    event_id uuid,
    channel text NOT NULL,
    recipient text,
    route_by text,                    -- RouteOrigin; NULL: its route is not remembered
    state text NOT NULL,
    attempts integer NOT NULL,
    claims bigint NOT NULL DEFAULT 0, -- the token of the last claim
    interruptions integer NOT NULL DEFAULT 0,  -- its last attempts, if the process ended during each of them
    interrupted_at bigint,            -- the first of these, by the store's clock
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,           -- its place in the order: the arrival, as of a run
    not_before bigint,
    started_at bigint,
    finished_at bigint,
    parts_sent integer NOT NULL,
    route text,                       -- JSON: Route
    error text,
    error_group text,                 -- of a failed one
    warnings text,                    -- JSON: list of sentences
    conversation text,                -- the session whose reply goes to the place of its event
    ends uuid,                        -- the question whose end it writes into the message that asks
    addressee text,                   -- who is answered there: the recipient without its thread, in lower case
    message_id text,                  -- of each part, a line each, in a conversation or of a question
    text text NOT NULL`;

/** After this many interruptions in a row, a run or delivery is a suspect: it may be what ends the process. */
export const SUSPECT_AFTER = 3;

/* Work that can be claimed, as the indexes have it. A suspect is only claimed alone. */
export const READY = `state = 'ready' AND interruptions < ${SUSPECT_AFTER}`;
export const PENDING = `state = 'pending' AND interruptions < ${SUSPECT_AFTER}`;
export const SUSPECT_RUN = `state = 'ready' AND interruptions >= ${SUSPECT_AFTER}`;
export const SUSPECT_DELIVERY = `state = 'pending' AND interruptions >= ${SUSPECT_AFTER}`;

/** Failed requests that nobody has treated. */
export const FAILED_REQUEST = "dead > 0 AND failure_group IS NOT NULL";

/** Indexes of the tables that differ. */
export const INDEXES = `
  CREATE INDEX approvals_run ON hookline.approvals (run_id);
  CREATE INDEX approvals_code ON hookline.approvals (code, id);
  CREATE INDEX approvals_open ON hookline.approvals (mapping) WHERE state = 'open';
  CREATE INDEX runs_later ON hookline.runs (mapping, not_before) WHERE ${READY} AND not_before IS NOT NULL;
  CREATE INDEX runs_suspect ON hookline.runs (id) WHERE ${SUSPECT_RUN};
  CREATE UNIQUE INDEX runs_window ON hookline.runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
  CREATE INDEX runs_dead ON hookline.runs (id) WHERE state = 'dead' AND kind = 'hook';
  CREATE INDEX entries_main_turns ON hookline.entries (seq) WHERE role <> 'system' AND session_key = '${MAIN_SESSION}';
  CREATE INDEX deliveries_later ON hookline.deliveries (not_before) WHERE ${PENDING} AND not_before IS NOT NULL;
  CREATE INDEX deliveries_suspect ON hookline.deliveries (id) WHERE ${SUSPECT_DELIVERY};
  CREATE INDEX deliveries_conversation ON hookline.deliveries (conversation, created_at) WHERE conversation IS NOT NULL;
  CREATE INDEX deliveries_answers ON hookline.deliveries (channel, addressee, created_at) WHERE addressee IS NOT NULL;
  CREATE INDEX deliveries_loose ON hookline.deliveries (finished_at) WHERE event_id IS NULL;
  CREATE INDEX deliveries_failed ON hookline.deliveries (id) WHERE state = 'failed';
  CREATE INDEX deliveries_event ON hookline.deliveries (event_id) WHERE event_id IS NOT NULL;
  CREATE INDEX idempotency_keys_expiry ON hookline.idempotency_keys (expires_at);
`;

/**
 * Tells the tables that the first version of a schema creates from all others, also from those that it created before its
 * release.
 */
export function toApplicationId([first = ""]: readonly string[]): number {
  const statements = first.replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ").trim();
  return hash("sha256", statements, "buffer").readInt32BE();
}
