import { ConfigError } from "../../errors.ts";
import { MAIN_SESSION } from "../../types.ts";
import { integer } from "../rows.ts";
import type { PostgresDatabase, Sql } from "./database.ts";

/*
 * Rows that change often are in narrow tables with free space in their pages. Events and bodies never change, and are
 * partitioned by month, in the order of their ids (UUIDv7, which begin with the time): retention drops whole partitions.
 * JSON is text, since nothing looks into it and jsonb cannot hold every string. Text sorts by bytes, as in JavaScript.
 */
const VERSION_1 = `
  CREATE FUNCTION hookline.now_ms() RETURNS bigint LANGUAGE sql AS
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

  CREATE TABLE hookline.events (
    id uuid PRIMARY KEY,
    hook text NOT NULL,
    mapping text,
    event text,                       -- what the sender calls it
    reason text,                      -- why it was skipped
    received_at bigint NOT NULL,
    replay_of text,
    credential text,
    traceparent text,
    actions text NOT NULL,            -- JSON: ActionReceipt[]
    failure text,                     -- JSON: EventFailure
    detail text NOT NULL              -- JSON: the request without its body, warnings, log
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
    lost integer NOT NULL             -- its runs and deliveries that failed permanently
  ) WITH (fillfactor = 70);
  CREATE INDEX event_states_hook ON hookline.event_states (hook, id);
  CREATE INDEX event_states_status ON hookline.event_states (status, id);

  CREATE TABLE hookline.runs (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    kind text NOT NULL,
    event_id uuid,
    hook text,
    mapping text COLLATE "C" NOT NULL DEFAULT '',  -- whose limits hold; empty: the service's own hooks, heartbeats
    session_key text COLLATE "C" NOT NULL,
    coalesce_key text COLLATE "C",    -- while later events may join it
    state text NOT NULL,
    attempts integer NOT NULL,
    claims bigint NOT NULL DEFAULT 0, -- the token of the last claim
    node text,                        -- that made it
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,           -- by the database's clock
    started_at bigint,
    finished_at bigint,
    hold_reason text,                 -- of a held run, and of one that was released for good
    error text,
    outcome text,                     -- JSON: reply, model, usage, warnings
    action text                       -- JSON: AgentAction
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_due ON hookline.runs (mapping, due_at, seq) WHERE state = 'ready';
  CREATE INDEX runs_running ON hookline.runs (mapping) WHERE state = 'running';
  CREATE UNIQUE INDEX runs_window ON hookline.runs (coalesce_key) WHERE coalesce_key IS NOT NULL;
  CREATE INDEX runs_session ON hookline.runs (session_key, seq) WHERE finished_at IS NULL;
  CREATE INDEX runs_state ON hookline.runs (state, seq) WHERE state <> 'done';
  CREATE INDEX runs_loose ON hookline.runs (finished_at) WHERE event_id IS NULL;
  CREATE INDEX runs_dead ON hookline.runs (id) WHERE state = 'dead' AND kind = 'hook';

  CREATE TABLE hookline.run_starts (  -- of mappings with a rate limit, within its period
    mapping text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,       -- by the database's clock
    run_seq bigint NOT NULL,
    PRIMARY KEY (mapping, started_at, run_seq)
  );

  CREATE TABLE hookline.joined_events (  -- what a coalesced run holds beside its own event
    run_id uuid NOT NULL,
    place integer NOT NULL,
    event_id uuid NOT NULL,
    message text,                     -- JSON; NULL: left out, there are too many
    PRIMARY KEY (run_id, place)
  );

  CREATE TABLE hookline.entries (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_key text COLLATE "C" NOT NULL,
    role text NOT NULL,
    at bigint NOT NULL,
    event_id uuid,
    run_id uuid,
    pending integer NOT NULL,
    urgent integer NOT NULL,
    boundary text,                    -- JSON: the safety boundary around the text
    text text NOT NULL
  );
  CREATE INDEX entries_session ON hookline.entries (session_key, seq);
  CREATE INDEX entries_turns ON hookline.entries (session_key, seq) WHERE role <> 'system';
  CREATE INDEX entries_pending ON hookline.entries (seq) WHERE pending = 1;
  CREATE INDEX entries_loose ON hookline.entries (at) WHERE event_id IS NULL;
  CREATE INDEX entries_event ON hookline.entries (event_id) WHERE event_id IS NOT NULL;

  CREATE TABLE hookline.sessions (
    key text COLLATE "C" PRIMARY KEY,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    entries integer NOT NULL
  ) WITH (fillfactor = 70);
  CREATE INDEX sessions_updated ON hookline.sessions (updated_at);

  CREATE TABLE hookline.deliveries (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    run_id uuid NOT NULL,
    event_id uuid,
    channel text NOT NULL,
    recipient text,
    state text NOT NULL,
    attempts integer NOT NULL,
    claims bigint NOT NULL DEFAULT 0,
    node text,
    created_at bigint NOT NULL,
    due_at bigint NOT NULL,           -- by the database's clock
    finished_at bigint,
    parts_sent integer NOT NULL,
    route text,                       -- JSON: Route
    error text,
    text text NOT NULL,
    conversation text,                -- the session whose reply goes to the place of its event
    edits integer NOT NULL DEFAULT 0, -- it replaces the conversation's earlier message
    message_id text                   -- of the first part, in a conversation
  ) WITH (fillfactor = 70);
  CREATE INDEX deliveries_conversation ON hookline.deliveries (conversation, created_at) WHERE conversation IS NOT NULL;
  CREATE INDEX deliveries_due ON hookline.deliveries (due_at, seq) WHERE state = 'pending';
  CREATE INDEX deliveries_recipient ON hookline.deliveries (channel, recipient, seq) WHERE finished_at IS NULL;
  CREATE INDEX deliveries_state ON hookline.deliveries (state, seq) WHERE state <> 'sent';
  CREATE INDEX deliveries_loose ON hookline.deliveries (finished_at) WHERE event_id IS NULL;
  CREATE INDEX deliveries_failed ON hookline.deliveries (id) WHERE state = 'failed';
  CREATE INDEX deliveries_event ON hookline.deliveries (event_id) WHERE event_id IS NOT NULL;

  CREATE TABLE hookline.routes (
    channel text PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,  -- the highest was used last
    recipient text NOT NULL
  );

  CREATE TABLE hookline.sent_messages (  -- of deliveries
    id text COLLATE "C" PRIMARY KEY,  -- that the channel gave
    sent_at bigint NOT NULL
  );
  CREATE INDEX sent_messages_age ON hookline.sent_messages (sent_at);

  CREATE TABLE hookline.idempotency_keys (
    scope text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text NOT NULL,
    expires_at bigint NOT NULL,
    event_id uuid NOT NULL,           -- that the receipt names
    receipt text NOT NULL,            -- JSON: what the first one was answered
    PRIMARY KEY (scope, key)
  );
  CREATE INDEX idempotency_keys_expiry ON hookline.idempotency_keys (expires_at);

  CREATE TABLE hookline.spend (
    hour bigint NOT NULL,             -- its start
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

  CREATE TABLE hookline.leases (
    name text PRIMARY KEY,
    node text NOT NULL,               -- empty: released
    token bigint NOT NULL
  );
`;

/** Each version of a row is entered into every index whose condition it meets, and that is most of what a run costs. */
const VERSION_2 = `
  ALTER TABLE hookline.nodes ADD COLUMN version integer NOT NULL DEFAULT 1;  -- the newest of this list that it knows

  ALTER TABLE hookline.runs REPLICA IDENTITY USING INDEX runs_id_key;
  CREATE INDEX runs_waiting ON hookline.runs (state, id) WHERE state IN ('queued', 'held', 'dead', 'dropped');

  ALTER TABLE hookline.deliveries REPLICA IDENTITY USING INDEX deliveries_id_key;
  CREATE INDEX deliveries_waiting ON hookline.deliveries (state, id)
    WHERE state IN ('queued', 'sending', 'skipped', 'failed', 'dropped');

  CREATE UNIQUE INDEX entries_key ON hookline.entries (session_key, seq);
  ALTER TABLE hookline.entries REPLICA IDENTITY USING INDEX entries_key;
  CREATE INDEX entries_main_turns ON hookline.entries (seq) WHERE role <> 'system' AND session_key = '${MAIN_SESSION}';
`;

/** What only programs need that know version 1. Not while a dump reads the tables: everybody would wait behind it. */
const DROP_OUTDATED = `DO $$ BEGIN
  SET LOCAL lock_timeout = '1s';
  ALTER TABLE hookline.runs DROP CONSTRAINT runs_pkey;
  DROP INDEX hookline.runs_state;
  ALTER TABLE hookline.deliveries DROP CONSTRAINT deliveries_pkey;
  DROP INDEX hookline.deliveries_state;
  ALTER TABLE hookline.entries DROP CONSTRAINT entries_pkey;
  DROP INDEX hookline.entries_session;
  DROP INDEX hookline.entries_turns;
  EXCEPTION WHEN lock_not_available THEN NULL;
END $$`;

const MIGRATIONS = [VERSION_1, VERSION_2];

/** The newest version that this program knows. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Any number that no other program takes. */
export const MIGRATION_LOCK = 7_402_615;

/** An index of a large table takes its time. Nobody waits long behind a dump or another reader of the tables. */
const MIGRATION_TIMEOUTS =
  "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '3000', true)";

/**
 * Brings the tables to the newest version, one node at a time. Earlier programs keep running beside it, since a version
 * only adds. Throws a `ConfigError` if a newer program needs them otherwise.
 * @param to - for tests: an earlier version
 */
export async function migrate(database: PostgresDatabase, to = MIGRATIONS.length): Promise<void> {
  await database.transact(async (sql) => {
    await sql.run("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    const version = await readVersion(sql);
    if (version > to) throw toVersionError(version);
    if (version < to) {
      await sql.run(MIGRATION_TIMEOUTS);
      await sql.run("CREATE SCHEMA IF NOT EXISTS hookline");
      for (const statements of MIGRATIONS.slice(version, to)) await runAll(sql, statements);
      await runAll(sql, "CREATE TABLE IF NOT EXISTS hookline.version (version integer NOT NULL)");
      await runAll(sql, "DELETE FROM hookline.version");
      await sql.run("INSERT INTO hookline.version VALUES ($1)", [to]);
    }
    if (to === MIGRATIONS.length) await dropOutdated(sql);
  });
}

/** Drops what only earlier programs need, once none of them runs. */
export async function dropOutdated(sql: Sql): Promise<void> {
  const row = await sql.get(
    `SELECT to_regclass('hookline.runs_state')::text AS outdated,
       EXISTS (SELECT 1 FROM hookline.nodes WHERE version < 2 AND until > hookline.now_ms())::integer AS needed`,
  );
  if (row?.outdated !== null && row?.needed === 0) await sql.run(DROP_OUTDATED);
}

/** Exists while a migration from an SQLite journal is unfinished. */
export const MIGRATION_TABLE = "hookline.migration";

/** Throws a `ConfigError` if only a part of a journal is in the database. */
export async function requireComplete(database: PostgresDatabase): Promise<void> {
  const row = await database.read(({ get }) => get("SELECT to_regclass($1)::text AS name", [MIGRATION_TABLE]));
  if (row?.name === null) return;
  const message =
    "a migration into this database is unfinished: run `webhooks store migrate` again, or set another database";
  throw new ConfigError([{ message, key: "store.url" }]);
}

async function readVersion(sql: Sql): Promise<number> {
  const table = await sql.get("SELECT to_regclass('hookline.version')::text AS name");
  if (table?.name === null) return 0;
  const row = await sql.get("SELECT version FROM hookline.version");
  return integer(row?.version);
}

/** One statement each: a prepared text can hold only one. */
async function runAll(sql: Sql, statements: string): Promise<void> {
  for (const statement of statements.replaceAll(/--.*/g, "").split(";")) {
    if (statement.trim() !== "") await sql.run(statement);
  }
}

function toVersionError(version: number): ConfigError {
  const message =
    `the journal has schema version ${version}, but this program supports ${MIGRATIONS.length} at most; ` +
    "start the newer program, or set another database";
  return new ConfigError([{ message, key: "store.url" }]);
}
