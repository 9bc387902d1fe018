import { ConfigError } from "../../core/errors.ts";
import { integer } from "../../core/journal/rows.ts";
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
  toApplicationId,
  WIDE_TABLES,
} from "../../core/journal/tables.ts";
import type { PostgresDatabase, Sql } from "./database.ts";

/*
 * Rows that change often are in narrow tables with free space in their pages. Events and bodies never change, and are
 * partitioned by month, in the order of their ids (UUIDv7, which begin with the time): retention drops whole partitions.
 * JSON is text, since nothing looks into it and jsonb cannot hold every string. Text sorts by bytes, as in JavaScript. Each
 * version of a row is entered into every index whose condition it meets, and that is most of what a run costs: so rows that
 * change have no index on `seq` alone.
 */
const VERSION_1 = `
  ${NARROW_TABLES}
  ${WIDE_TABLES}
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
    ${FAILURE_COLUMNS}
  ) WITH (fillfactor = 70);
  CREATE INDEX event_states_hook ON hookline.event_states (hook, id);
  CREATE INDEX event_states_status ON hookline.event_states (status, id);
  CREATE INDEX event_states_failed ON hookline.event_states (id) WHERE ${FAILED_REQUEST};

  CREATE TABLE hookline.runs (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    event_id uuid,
    hook text,
    mapping text COLLATE "C" NOT NULL DEFAULT '',  -- whose limits hold; empty: the service's own hooks, heartbeats
    node text,                        -- that made the last claim
    ${RUN_COLUMNS},
    action text                       -- JSON: AgentAction
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_due ON hookline.runs (mapping, due_at, seq) WHERE ${READY} AND not_before IS NULL;
  CREATE INDEX runs_arrived ON hookline.runs (mapping, due_at) WHERE ${READY} AND not_before IS NOT NULL;
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
    ${APPROVAL_COLUMNS}
  );
  CREATE INDEX approvals_state ON hookline.approvals (state, id);
  CREATE TABLE hookline.entries (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    event_id uuid,
    run_id uuid,
    ${ENTRY_COLUMNS},
    PRIMARY KEY (session_key, seq)
  );
  CREATE INDEX entries_pending ON hookline.entries (seq) WHERE pending = 1;
  CREATE INDEX entries_loose ON hookline.entries (at) WHERE event_id IS NULL;
  CREATE INDEX entries_event ON hookline.entries (event_id) WHERE event_id IS NOT NULL;

  CREATE TABLE hookline.deliveries (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    id uuid PRIMARY KEY,
    node text,
    edits integer NOT NULL DEFAULT 0, -- as toEditsColumn writes it
    ${DELIVERY_COLUMNS}
  ) WITH (fillfactor = 70);
  CREATE INDEX deliveries_due ON hookline.deliveries (due_at, seq) WHERE ${PENDING} AND not_before IS NULL;
  CREATE INDEX deliveries_arrived ON hookline.deliveries (due_at) WHERE ${PENDING} AND not_before IS NOT NULL;
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

  ${INDEXES}
  CREATE TABLE hookline.leases (
    name text PRIMARY KEY,
    node text NOT NULL,               -- empty: released
    token bigint NOT NULL
  );
`;

/** One per version. A released one never changes. */
export const MIGRATIONS: readonly string[] = [VERSION_1];

const APPLICATION_ID = toApplicationId(MIGRATIONS);

/** Any number that no other program takes. */
export const MIGRATION_LOCK = 7_402_615;

/** An index of a large table takes its time. Nobody waits long behind a dump or another reader of the tables. */
const MIGRATION_TIMEOUTS =
  "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '3000', true)";

export interface MigrateOptions {
  /** Whether tables of an earlier version may be changed. */
  upgrade?: boolean;
  /** For tests. */
  migrations?: readonly string[];
}

/**
 * Brings the tables to the newest version, one node at a time. Earlier programs keep running beside it, since a version
 * only adds. Throws a `ConfigError` if another program or a newer one made them, and for older ones without `upgrade`.
 */
export async function migrate(database: PostgresDatabase, options: MigrateOptions = {}): Promise<void> {
  const { upgrade = false, migrations = MIGRATIONS } = options;
  await database.transact(async (sql) => {
    // The migration of another node may take longer than anything else.
    await sql.run("SELECT set_config('lock_timeout', '0', true)");
    await sql.run("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    const version = await readVersion(sql);
    if (version === migrations.length) return;
    if (version > migrations.length) throw toVersionError(version, migrations.length);
    if (version > 0 && !upgrade) throw toUpgradeError(version);
    await sql.run(MIGRATION_TIMEOUTS);
    await sql.run("CREATE SCHEMA IF NOT EXISTS hookline");
    for (const statements of migrations.slice(version)) await runAll(sql, statements);
    const table =
      "CREATE TABLE IF NOT EXISTS hookline.version (application_id integer NOT NULL, version integer NOT NULL)";
    await sql.run(table);
    await sql.run("DELETE FROM hookline.version");
    await sql.run("INSERT INTO hookline.version VALUES ($1, $2)", [APPLICATION_ID, migrations.length]);
  });
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

/** 0 if there are no tables. Throws a `ConfigError` if they are not this program's. */
async function readVersion(sql: Sql): Promise<number> {
  const found = await sql.get(FIND_TABLES);
  if (found?.tables === 0) return 0;
  const row = found?.is_marked === 1 ? await sql.get("SELECT * FROM hookline.version") : undefined;
  if (row?.application_id === APPLICATION_ID) return integer(row.version);
  const message =
    "the tables in the schema `hookline` are not of this program, or an unreleased version made them; " +
    "let the program that made them finish its work, then set a new database";
  throw new ConfigError([{ message, key: "store.url" }]);
}

const FIND_TABLES = `
  SELECT (SELECT count(*) FROM pg_tables WHERE schemaname = 'hookline')::integer AS tables,
    (SELECT count(*) FROM pg_attribute
     WHERE attrelid = to_regclass('hookline.version') AND attname = 'application_id')::integer AS is_marked`;

/** One statement each: a prepared text can hold only one. */
async function runAll(sql: Sql, statements: string): Promise<void> {
  for (const statement of statements.replaceAll(/--.*/g, "").split(";")) {
    if (statement.trim() !== "") await sql.run(statement);
  }
}

function toUpgradeError(version: number): ConfigError {
  const message =
    `the journal has schema version ${version} of an earlier program: run pg_dump --format=custom --schema=hookline ` +
    "--file=hookline.dump, then start with --upgrade-store, or with store.upgrade: true";
  return new ConfigError([{ message, key: "store.upgrade" }]);
}

function toVersionError(version: number, supported: number): ConfigError {
  const message =
    `the journal has schema version ${version}, but this program supports ${supported} at most; ` +
    "start the newer program, or set another database";
  return new ConfigError([{ message, key: "store.url" }]);
}
