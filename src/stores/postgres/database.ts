import { setTimeout as sleep } from "node:timers/promises";
import { Client, type ClientConfig, Pool, type PoolClient, type QueryResult, types } from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import { JournalUnavailable, messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { createOutage } from "../../core/journal/outage.ts";
import type { Row } from "../../core/journal/columns.ts";
import { NODE_LEASE_MS } from "../../core/shared/time.ts";
import { isConflict, isNameLost, isRefused, toUnavailable } from "./errors.ts";
import { createNames, type StatementNames } from "./names.ts";
import { toPostgresText } from "./text.ts";

type SqlValue = string | number | boolean | Buffer | null | undefined | readonly (string | number | null)[];

/**
 * A connection inside a transaction, or any one of the pool. Statements that do not wait for each other are sent together,
 * and run one after another.
 */
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
  /** For tests: connections that stay open. */
  pool?: Pool;
  /** After how long the server ends a transaction that sends nothing, and a wait for a lock, in milliseconds. For tests. */
  maxIdleMs?: number;
  maxLockMs?: number;
  log: Log;
}

/** The connection of a transaction. Each way there and back costs more than most statements. */
export interface TransactionSql extends Sql {
  /**
   * Sends statements without waiting for the answer to BEGIN. Only for reads and locks, and for one statement that may also
   * be a transaction by itself.
   */
  withBegin: Sql;
  /** Sends a statement together with COMMIT. If it fails, the transaction does. `read` is given its row. */
  withCommit(sql: string, values?: SqlValue[], read?: (row: Row | undefined) => void): void;
}

/** How far a transaction is that is attempted until it is committed. */
interface Progress {
  isRepeated: boolean;
  /** An attempt without an answer may have been committed. */
  isCommitSent: boolean;
}

interface Begun {
  isRepeated: boolean;
  row: Promise<Row | undefined>;
}

export interface PostgresDatabase {
  /**
   * Runs the work in a transaction, which begins with a statement of the caller; the work is given its row. Both are repeated after a conflict with another transaction, and while the database is
   * away; `isRepeated` says that an earlier attempt may have been committed. Rejects with `JournalUnavailable` if nothing
   * can be committed within the commit timeout.
   */
  transact<Result>(work: (sql: TransactionSql, begun: Begun) => Promise<Result>, first?: string): Promise<Result>;
  /** Runs each statement in its own transaction. Nothing is repeated that has reached the database. */
  read<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result>;
  /** Opens a separate connection, for LISTEN. */
  connect(): Promise<Client>;
  close(): Promise<void>;
}

/** How long to wait for a free or new connection, and for the answer to one statement. */
const CONNECT_MS = 3000;
const STATEMENT_MS = 30_000;

/** A node that is paused or cut off within a transaction holds locks that all others wait for. */
const MAX_IDLE_MS = 3000;

/**
 * A statement that waits for a lock holds its connection to the database, also that of a pooler, behind which renewals of a
 * lease wait. Two waits end before a lease does.
 */
const MAX_LOCK_MS = NODE_LEASE_MS / 3;

const MAX_CONFLICTS = 50;
const RETRY_MS = 20;
const MAX_RETRY_MS = 250;

export function createDatabase(options: DatabaseOptions): PostgresDatabase {
  const { maxConnections, commitTimeoutMs, log } = options;
  const { maxIdleMs = MAX_IDLE_MS, maxLockMs = MAX_LOCK_MS } = options;
  const begin = toBegin({ maxIdleMs, maxLockMs });
  let settings: ClientConfig | undefined;
  const findSettings = (): ClientConfig => (settings ??= toSettings(options.url));
  let pool = options.pool;
  const openPool = (): Pool => (pool ??= createPool(findSettings(), maxConnections, log));
  const outage = createOutage(log);
  const names = createNames(log);
  let closed = false;
  let hasCommitted = false;

  return {
    transact: (work, first = "SELECT 1") =>
      repeat((progress) =>
        inTransaction({ first, progress }, (sql, row) => work(sql, { isRepeated: progress.isRepeated, row })),
      ),
    async read(work) {
      try {
        requireOpen();
        const result = await work(toSql(readOne));
        outage.end();
        return result;
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    },
    async connect() {
      const client = new Client(findSettings());
      client.on("error", () => undefined);
      await client.connect();
      return client;
    },
    async close() {
      closed = true;
      if (!options.pool) await pool?.end();
    },
  };

  async function repeat<Result>(attempt: (progress: Progress) => Promise<Result>): Promise<Result> {
    let deadline = performance.now() + commitTimeoutMs;
    const progress: Progress = { isRepeated: false, isCommitSent: false };
    for (let conflicts = 0, delayMs = RETRY_MS; ;) {
      const wasCommitSent = progress.isCommitSent;
      const hadNames = names.areUsed();
      try {
        requireOpen();
        const result = await attempt(progress);
        hasCommitted = true;
        outage.end();
        return result;
      } catch (error) {
        if (hadNames && isNameLost(error)) {
          names.stop();
          continue;
        }
        const unavailable = toUnavailable(error);
        if (!unavailable && !isConflict(error, progress.isRepeated)) throw error;
        const { isRepeated, isCommitSent } = progress;
        // From now on it is looked up whether it was committed.
        if (isCommitSent && !wasCommitSent) deadline = performance.now() + commitTimeoutMs;
        // While the database is away nothing else waits for it: the sender tries again. At the start there is no sender yet.
        const isLate = (hasCommitted || isRepeated) && performance.now() + delayMs > deadline;
        const isOver = closed || isRefused(error) || (outage.isOn() && !isCommitSent) || isLate;
        if (unavailable && isOver) throw outage.begin(unavailable);
        if (!unavailable && ++conflicts > MAX_CONFLICTS) throw new JournalUnavailable(messageOf(error));
        progress.isRepeated ||= unavailable !== undefined;
      }
      await sleep(delayMs * Math.random());
      delayMs = Math.min(delayMs * 2, MAX_RETRY_MS);
    }
  }

  /** Sends all three together: one way there and back. */
  async function readOne(text: string, values?: SqlValue[]): Promise<QueryResult<Row>> {
    const hadNames = names.areUsed();
    try {
      return await tryToRead(text, values);
    } catch (error) {
      if (!hadNames || !isNameLost(error)) throw error;
      names.stop();
      return tryToRead(text, values);
    }
  }

  async function tryToRead(text: string, values?: SqlValue[]): Promise<QueryResult<Row>> {
    const client = await openPool().connect();
    let isBroken = true;
    try {
      const begun = sendBegin(client, begin);
      const answer = send({ client, names }, text, values);
      const [, result] = await Promise.all([begun, answer, client.query("COMMIT")]);
      isBroken = false;
      return result;
    } finally {
      client.release(isBroken);
    }
  }

  async function inTransaction<Result>(
    { first, progress }: { first: string; progress: Progress },
    work: (sql: TransactionSql, row: Promise<Row | undefined>) => Promise<Result>,
  ): Promise<Result> {
    const client = await openPool().connect();
    let isBroken = true;
    try {
      const begun = sendBegin(client, `${begin}; ${first}`);
      const last: LastStatement[] = [];
      const result = await work(toTransactionSql({ client, names }, begun, last), begun);
      await begun;
      progress.isCommitSent = true;
      await commit({ client, names }, last);
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

export function createPool(settings: ClientConfig, max: number, log: Log): Pool {
  const pool = new Pool({ ...settings, max });
  // A connection that breaks while it is idle leaves the pool.
  // One that breaks while it is used fails its statement; the event alone would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) => log.debug("database connection lost", { error: error.message }));
  return pool;
}

/** Settings that the server's defaults may change. An answer is sent only after the commit is on its disk. */
const toBegin = ({ maxIdleMs, maxLockMs }: { maxIdleMs: number; maxLockMs: number }): string => `
  BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
  SELECT set_config('statement_timeout', '${STATEMENT_MS}', true), set_config('lock_timeout', '${maxLockMs}', true),
    set_config('idle_in_transaction_session_timeout', '${maxIdleMs}', true),
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END`;

/** Gives the row of the first statement. The transaction waits for it, so that a failure is handled there. */
function sendBegin(client: PoolClient, statements: string): Promise<Row | undefined> {
  sendTogether(client);
  // A text of several statements gives several results.
  const begun = client
    .query<Row>(statements)
    .then((results: unknown) => (Array.isArray(results) ? results.at(-1).rows[0] : undefined));
  begun.catch(() => undefined);
  return begun;
}

interface LastStatement {
  text: string;
  values: SqlValue[] | undefined;
  read?: (row: Row | undefined) => void;
}

/** PostgreSQL's class of warnings without a code: COMMIT was canceled while it waited for a synchronous standby. */
const WARNING = "01000";

/** After a statement that failed, COMMIT is a ROLLBACK. */
async function commit({ client, names }: Connection, last: LastStatement[]): Promise<void> {
  let warning: string | undefined;
  const onNotice = ({ code, message }: { code?: string; message?: string }): void => {
    if (code === WARNING) warning = message;
  };
  client.on("notice", onNotice);
  sendTogether(client);
  const sent = last.map(({ text, values }) => send({ client, names }, text, values));
  const answers = await Promise.allSettled([...sent, client.query<Row>("COMMIT")]);
  client.off("notice", onNotice);
  for (const [index, answer] of answers.entries()) {
    if (answer.status === "rejected") throw answer.reason;
    last[index]?.read?.(answer.value.rows[0]);
  }
  // Refused: the commit is on this server only, and would be lost with it.
  if (warning !== undefined) throw new JournalUnavailable(`the database's standby may lack the commit: ${warning}`);
}

function toTransactionSql(connection: Connection, begun: Promise<unknown>, last: LastStatement[]): TransactionSql {
  const query = (text: string, values?: SqlValue[]): Promise<QueryResult<Row>> => {
    sendTogether(connection.client);
    return send(connection, text, values);
  };
  return {
    ...toSql(async (text, values) => {
      // After a BEGIN that failed, each statement would be a separate transaction.
      await begun;
      return query(text, values);
    }),
    withBegin: toSql(query),
    withCommit: (text, values, read) => void last.push({ text, values, read }),
  };
}

interface Connection {
  client: PoolClient;
  names: StatementNames;
}

function send({ client, names }: Connection, text: string, values: SqlValue[] = []): Promise<QueryResult<Row>> {
  return client.query<Row>({ name: names.find(text, values), text, values: values.map(toStored) });
}

function toStored<Value extends SqlValue>(value: Value): Value | string | (string | number | null)[] {
  if (typeof value === "string") return toPostgresText(value);
  return Array.isArray(value) ? value.map(toStored) : value;
}

/** Sends all writes of this turn of the event loop in one packet. */
function sendTogether({ connection: { stream } }: PoolClient): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function toSql(query: (text: string, values?: SqlValue[]) => Promise<QueryResult<Row>>): Sql {
  return {
    all: async (sql, values) => (await query(sql, values)).rows,
    get: async (sql, values) => (await query(sql, values)).rows[0],
    run: async (sql, values) => (await query(sql, values)).rowCount ?? 0,
  };
}

/** Reads the files that the URL names. The driver reads them for each connection, and an error there would end the process. */
export function toSettings(url: string): ClientConfig {
  return {
    application_name: "hookline",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS + CONNECT_MS,
    keepAlive: true,
    pipeline: true,
    types: { getTypeParser },
    ...parseIntoClientConfig(url),
  };
}

const INT8 = 20;

/** 64-bit integers are times, numbers of rows and tokens, all below 2^53. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  return oid === INT8 ? Number : types.getTypeParser(oid, format);
}
