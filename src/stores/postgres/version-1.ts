/**
 * The tables of a PostgreSQL journal of version 1. Released with 0.1.0: it never changes, and what comes later is a migration.
 *
 * Rows that change often are in narrow tables with free space in their pages. Events and bodies never change, and are
 * partitioned by month, in the order of their ids (UUIDv7, which begin with the time): retention drops whole partitions.
 * JSON is text, since nothing looks into it and jsonb cannot hold every string. Text sorts by bytes, as in JavaScript. Each
 * version of a row is entered into every index whose condition it meets, and that is most of what a run costs: so rows that
 * change have no index on `seq` alone.
 */
export const VERSION_1 = `
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

  CREATE FUNCTION hookline.now_ms() RETURNS bigint LANGUAGE sql AS
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

  CREATE TABLE hookline.events (
    id uuid PRIMARY KEY,
    detail text NOT NULL              -- JSON: EventDetail
  ) PARTITION BY RANGE (id);
  CREATE TABLE hookline.events_other PARTITION OF hookline.events DEFAULT;

  CREATE TABLE hookline.bodies (      -- none: the body is empty
    event_id uuid PRIMARY KEY,
    body bytea NOT NULL
  ) PARTITION BY RANGE (event_id);
  CREATE TABLE hookline.bodies_other PARTITION OF hookline.bodies DEFAULT;

  CREATE TABLE hookline.event_states (
    id uuid PRIMARY KEY,              -- of the event
    hook text NOT NULL,
    status text NOT NULL,
    received_at bigint NOT NULL,
    open integer NOT NULL,            -- its runs and deliveries that are not finished
    dead integer NOT NULL,            -- its runs and deliveries that failed permanently; 1: a failed request
    canceled integer NOT NULL DEFAULT 0,  -- its runs and deliveries that were canceled

    failure_group text,               -- its error, as toFailureGroup writes it
    replay_id uuid                    -- the event of its replay that was accepted
  ) WITH (fillfactor = 70);
  CREATE INDEX event_states_hook ON hookline.event_states (hook, id);
  CREATE INDEX event_states_status ON hookline.event_states (status, id);
  CREATE INDEX event_states_failed ON hookline.event_states (id) WHERE dead > 0 AND failure_group IS NOT NULL;

  CREATE TABLE hookline.runs (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    event_id uuid,
    hook text,
    mapping text COLLATE "C" NOT NULL DEFAULT '',  -- whose limits hold; empty: the service's own hooks, heartbeats
    node text,                        -- that made the last claim

    session_key text COLLATE "C" NOT NULL,
    sender text COLLATE "C" NOT NULL DEFAULT '',  -- of its event, as senderOf names it
    coalesce_key text COLLATE "C",    -- while later events may join it: until it is claimed, or its window is over
    state text NOT NULL,
    attempts integer NOT NULL,
    claims bigint NOT NULL DEFAULT 0,  -- the token of the last claim
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
    error text,
    action text                       -- JSON: AgentAction
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_due ON hookline.runs (mapping, due_at, seq) WHERE state = 'ready' AND interruptions < 3 AND not_before IS NULL;
  CREATE INDEX runs_arrived ON hookline.runs (mapping, due_at) WHERE state = 'ready' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX runs_running ON hookline.runs (mapping) WHERE state = 'running';
  CREATE INDEX runs_session ON hookline.runs (session_key, seq) INCLUDE (sender) WHERE finished_at IS NULL;
  CREATE INDEX runs_waiting ON hookline.runs (state, id) WHERE state IN ('queued', 'held', 'dead', 'canceled');
  CREATE INDEX runs_loose ON hookline.runs (finished_at) WHERE event_id IS NULL;

  CREATE TABLE hookline.joined_events (  -- what a coalesced run holds beside its own event
    run_id uuid NOT NULL,
    place integer NOT NULL,
    event_id uuid NOT NULL,
    message text,                     -- JSON; NULL: left out, there are too many
    access text,                      -- JSON: ToolAccess; NULL: none
    PRIMARY KEY (run_id, place)
  );

  CREATE TABLE hookline.approvals (   -- questions to a person
    id uuid PRIMARY KEY,

    mapping text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL,
    state text NOT NULL,
    run_id uuid NOT NULL,
    event_id uuid,
    expires_at bigint,                -- by the store's clock; NULL: never
    question_id uuid,                 -- the delivery that asks
    detail text NOT NULL,             -- JSON: what is asked
    decision text                     -- JSON: how it has ended; NULL: it is open
  );
  CREATE INDEX approvals_state ON hookline.approvals (state, id);
  CREATE TABLE hookline.entries (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    event_id uuid,
    run_id uuid,

    session_key text COLLATE "C" NOT NULL,
    role text NOT NULL,
    at bigint NOT NULL,
    pending integer NOT NULL,
    urgent integer NOT NULL,
    boundary text,                    -- JSON: the safety boundary around the text
    sources text,                     -- JSON: the private sources that the text was made from; NULL: none
    text text NOT NULL,
    PRIMARY KEY (session_key, seq)
  );
  CREATE INDEX entries_pending ON hookline.entries (seq) WHERE pending = 1;
  CREATE INDEX entries_loose ON hookline.entries (at) WHERE event_id IS NULL;
  CREATE INDEX entries_event ON hookline.entries (event_id) WHERE event_id IS NOT NULL;

  CREATE TABLE hookline.deliveries (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    id uuid PRIMARY KEY,
    node text,
    edits integer NOT NULL DEFAULT 0,  -- as toEditsColumn writes it

    run_id uuid NOT NULL,
    event_id uuid,
    channel text NOT NULL,
    recipient text,
    route_by text,                    -- RouteOrigin; NULL: its route is not remembered
    state text NOT NULL,
    attempts integer NOT NULL,
    claims bigint NOT NULL DEFAULT 0,  -- the token of the last claim
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
    text text NOT NULL
  ) WITH (fillfactor = 70);
  CREATE INDEX deliveries_due ON hookline.deliveries (due_at, seq) WHERE state = 'pending' AND interruptions < 3 AND not_before IS NULL;
  CREATE INDEX deliveries_arrived ON hookline.deliveries (due_at) WHERE state = 'pending' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX deliveries_recipient ON hookline.deliveries (channel, recipient, seq) WHERE finished_at IS NULL;
  CREATE INDEX deliveries_waiting ON hookline.deliveries (state, id)
    WHERE state IN ('queued', 'sending', 'skipped', 'failed', 'canceled');

  CREATE TABLE hookline.routes (
    channel text NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,  -- the highest was used last
    recipient text NOT NULL,
    chosen_by text NOT NULL,          -- RouteOrigin
    PRIMARY KEY (channel, chosen_by)
  );

  CREATE TABLE hookline.idempotency_keys (
    scope text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    expires_at bigint NOT NULL,
    event_id uuid NOT NULL,           -- that the receipt names
    receipt text NOT NULL,            -- JSON: what the first one was answered
    PRIMARY KEY (scope, key)
  );

  CREATE TABLE hookline.mail_folders (
    mailbox text COLLATE "C" NOT NULL,
    folder text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    position text,                    -- NULL: no batch was processed yet
    PRIMARY KEY (mailbox, folder)
  );

  CREATE TABLE hookline.mail_known (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the lowest is the oldest
    digest text COLLATE "C" NOT NULL UNIQUE  -- of mailbox and id
  );

  CREATE TABLE hookline.mail_set_aside (
    mailbox text COLLATE "C" NOT NULL,
    folder text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    status integer NOT NULL,
    code text NOT NULL,
    event_id text,
    at bigint NOT NULL,
    tries integer NOT NULL,
    PRIMARY KEY (mailbox, folder, id)
  );

  CREATE TABLE hookline.mail_refresh_tokens (
    mailbox text COLLATE "C" PRIMARY KEY,
    configured text NOT NULL,         -- digest of the configured token that it replaces
    token text NOT NULL
  );

  CREATE TABLE hookline.nodes (
    id text PRIMARY KEY,
    until bigint NOT NULL,            -- what it holds is free after this; by the database's clock
    seen_at bigint NOT NULL,
    watches boolean NOT NULL DEFAULT false,  -- whether it wants to know of changes
    probes integer NOT NULL DEFAULT 0,
    info text                         -- JSON: NodeInfo
  ) WITH (fillfactor = 50);

  CREATE TABLE hookline.changes (     -- of the last minutes, while a node wants to know of them
    tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    node text NOT NULL,
    at bigint NOT NULL DEFAULT hookline.now_ms(),
    changes text NOT NULL,            -- JSON: Change[]
    PRIMARY KEY (tx, seq)
  );

  INSERT INTO hookline.publishing VALUES (substr(replace(gen_random_uuid()::text, '-', ''), 1, 12), 0, 0, '', 0);
  CREATE INDEX subscriptions_principal ON hookline.subscriptions (principal);

  CREATE TABLE hookline.signing_key (key bytea NOT NULL);
  INSERT INTO hookline.signing_key
    VALUES (decode(replace(concat(gen_random_uuid(), gen_random_uuid()), '-', ''), 'hex'));

  CREATE INDEX approvals_run ON hookline.approvals (run_id);
  CREATE INDEX approvals_code ON hookline.approvals (code, id);
  CREATE INDEX approvals_open ON hookline.approvals (mapping) WHERE state = 'open';
  CREATE INDEX runs_later ON hookline.runs (mapping, not_before) WHERE state = 'ready' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX runs_suspect ON hookline.runs (id) WHERE state = 'ready' AND interruptions >= 3;
  CREATE UNIQUE INDEX runs_window ON hookline.runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
  CREATE INDEX runs_dead ON hookline.runs (id) WHERE state = 'dead' AND kind = 'hook';
  CREATE INDEX entries_main_turns ON hookline.entries (seq) WHERE role <> 'system' AND session_key = 'main';
  CREATE INDEX deliveries_later ON hookline.deliveries (not_before) WHERE state = 'pending' AND interruptions < 3 AND not_before IS NOT NULL;
  CREATE INDEX deliveries_suspect ON hookline.deliveries (id) WHERE state = 'pending' AND interruptions >= 3;
  CREATE INDEX deliveries_conversation ON hookline.deliveries (conversation, created_at) WHERE conversation IS NOT NULL;
  CREATE INDEX deliveries_answers ON hookline.deliveries (channel, addressee, created_at) WHERE addressee IS NOT NULL;
  CREATE INDEX deliveries_loose ON hookline.deliveries (finished_at) WHERE event_id IS NULL;
  CREATE INDEX deliveries_failed ON hookline.deliveries (id) WHERE state = 'failed';
  CREATE INDEX deliveries_event ON hookline.deliveries (event_id) WHERE event_id IS NOT NULL;
  CREATE INDEX idempotency_keys_expiry ON hookline.idempotency_keys (expires_at);

  CREATE TABLE hookline.leases (
    name text PRIMARY KEY,
    node text NOT NULL,               -- empty: released
    token bigint NOT NULL
  );
`;
