import { setTimeout as sleep } from "node:timers/promises";
import { Client, type ClientConfig, DatabaseError, Pool, type QueryResult, types } from "pg";
import { JournalUnavailable, messageOf } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Row } from "../rows.ts";

export type SqlValue = string | number | boolean | Buffer | null | undefined | readonly (string | number | null)[];

/** A connection inside a transaction, or any one of the pool. Statements are not named, so that PgBouncer can stand between. */
export interface Sql {
  all(sql: string, values?: SqlValue[]): Promise<Row[]>;
  get(sql: string, values?: SqlValue[]): Promise<Row | undefined>;
  /** Gives the number of changed rows. */
  run(sql: string, values?: SqlValue[]): Promise<number>;
}

export interface DatabaseOptions {
  url: string;
  /** How many connections at most, beside the one that listens. */
  maxConnections: number;
  /** How long a write is sent again while the database is away, in milliseconds. */
  commitTimeoutMs: number;
  log: Log;
}

interface Begun {
  isRepeated: boolean;
  row: Row | undefined;
}

export interface PostgresDatabase {
  /**
   * Runs the work in a transaction, which begins with a statement of the caller; the work is given its row. Both are repeated after a conflict with another transaction, and while the database is
   * away; `isRepeated` says that an earlier attempt may have been committed. Rejects with `JournalUnavailable` if nothing
   * can be committed within the commit timeout.
   */
  transact<Result>(work: (sql: Sql, begun: Begun) => Promise<Result>, first?: string): Promise<Result>;
  /** Runs statements that need no transaction. Nothing is repeated that has reached the database. */
  read<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  /** Opens a connection of its own, for LISTEN. */
  connect(): Promise<Client>;
  close(): Promise<void>;
}

/** How long to wait for a free or new connection, and for the answer to one statement. */
const CONNECT_MS = 3000;
const STATEMENT_MS = 30_000;

const MAX_CONFLICTS = 50;
const RETRY_MS = 20;
const MAX_RETRY_MS = 250;

export function createDatabase(options: DatabaseOptions): PostgresDatabase {
  const { maxConnections, commitTimeoutMs, log } = options;
  const settings = toSettings(options.url);
  const pool = new Pool({ ...settings, max: maxConnections });
  // A connection that breaks while it is idle leaves the pool.
  // One that breaks while it is used fails its statement; the event alone would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) => log.debug("database connection lost", { error: error.message }));
  const outage = createOutage(log);
  let closed = false;

  return {
    transact: (work, first = "SELECT 1") =>
      repeat((isRepeated) => inTransaction(first, (sql, row) => work(sql, { isRepeated, row }))),
    async read(work) {
      try {
        requireOpen();
        const result = await work(toSql(pool));
        outage.end();
        return result;
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    },
    async connect() {
      const client = new Client(settings);
      client.on("error", () => undefined);
      await client.connect();
      return client;
    },
    async close() {
      closed = true;
      await pool.end();
    },
  };

  async function repeat<Result>(attempt: (isRepeated: boolean) => Promise<Result>): Promise<Result> {
    const deadline = Date.now() + commitTimeoutMs;
    let isRepeated = false;
    for (let conflicts = 0, delayMs = RETRY_MS; ;) {
      try {
        requireOpen();
        const result = await attempt(isRepeated);
        outage.end();
        return result;
      } catch (error) {
        const unavailable = toUnavailable(error);
        if (!unavailable && !isConflict(error, isRepeated)) throw error;
        // While the database is away nothing waits for it: the sender tries again.
        const isOver = closed || outage.isOn() || Date.now() + delayMs > deadline;
        if (unavailable && isOver) throw outage.begin(unavailable);
        if (!unavailable && ++conflicts > MAX_CONFLICTS) throw new JournalUnavailable(messageOf(error));
        isRepeated ||= unavailable !== undefined;
      }
      await sleep(delayMs * Math.random());
      delayMs = Math.min(delayMs * 2, MAX_RETRY_MS);
    }
  }

  async function inTransaction<Result>(
    first: string,
    work: (sql: Sql, row: Row | undefined) => Promise<Result>,
  ): Promise<Result> {
    const client = await pool.connect();
    let isBroken = true;
    try {
      // A text of several statements gives several results.
      const begun: unknown = await client.query<Row>(`${BEGIN}; ${first}`);
      const result = await work(toSql(client), Array.isArray(begun) ? begun.at(-1).rows[0] : undefined);
      await client.query("COMMIT");
      isBroken = false;
      return result;
    } catch (error) {
      if (toUnavailable(error)) throw error;
      await client.query("ROLLBACK");
      isBroken = false;
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  function requireOpen(): void {
    if (closed) throw new JournalUnavailable("the journal is closed");
  }
}

/** What the server's defaults may set otherwise. An answer is sent only after the commit is on its disk. */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
  SET LOCAL statement_timeout = ${STATEMENT_MS}; SET LOCAL lock_timeout = 0;
  SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') IN ('off', 'local')`;

type Queryable = Pick<Pool, "query">;

function toSql(connection: Queryable): Sql {
  const query = (text: string, values: SqlValue[] = []): Promise<QueryResult<Row>> =>
    connection.query<Row>({ text, values });
  return {
    all: async (sql, values) => (await query(sql, values)).rows,
    get: async (sql, values) => (await query(sql, values)).rows[0],
    run: async (sql, values) => (await query(sql, values)).rowCount ?? 0,
  };
}

function toSettings(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: "hookline",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS + CONNECT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
}

const INT8 = 20;

/** 64-bit integers are times, numbers of rows and tokens, all below 2^53. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  return oid === INT8 ? Number : types.getTypeParser(oid, format);
}

/** Logs when the database goes away and when it is back. */
function createOutage(log: Log) {
  let on = false;
  return {
    isOn: () => on,
    begin(error: JournalUnavailable): JournalUnavailable {
      if (!on) log.error("journal refuses writes", { reason: error.message });
      on = true;
      return error;
    },
    end() {
      if (on) log.info("journal accepts writes again");
      on = false;
    },
  };
}

const UNIQUE_VIOLATION = "23505";
const CONFLICTS = new Set(["40P01", "40001"]);

/** Another transaction was first: thrown by the work itself. */
export class Conflict extends Error {
  override name = "Conflict";
}

/** A row that is there already, at a repetition, is that of the earlier attempt. */
function isConflict(error: unknown, isRepeated: boolean): boolean {
  const code = stateOf(error) ?? "";
  return error instanceof Conflict || CONFLICTS.has(code) || (isRepeated && code === UNIQUE_VIOLATION);
}

/**
 * States that concern the server, not the statement: connection, resources (also a full disk), shut down, cancelled,
 * read-only after a failover, and a file system that fails.
 */
const SERVER_STATES = /^(08|53|57|58|25006|55P03)/;

/** The error as a `JournalUnavailable` if the database or the way to it caused it, else undefined. */
function toUnavailable(error: unknown): JournalUnavailable | undefined {
  if (error instanceof JournalUnavailable) return error;
  const state = stateOf(error);
  const isServer = state === undefined ? isConnectionError(error) : SERVER_STATES.test(state);
  if (!isServer) return undefined;
  return new JournalUnavailable(`the database cannot be used: ${messageOf(error)}`, { cause: error });
}

/** Five characters, from PostgreSQL itself. */
function stateOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** What `pg` throws by itself has no class of its own. */
const CONNECTION_ERRORS = /terminated|timeout|not queryable|closed|ended|calling end/i;

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return "syscall" in error || "errno" in error || CONNECTION_ERRORS.test(error.message) || isAggregate(error);
}

/** Of a name with several addresses. */
function isAggregate(error: Error): boolean {
  return error instanceof AggregateError && error.errors.every(isConnectionError);
}
