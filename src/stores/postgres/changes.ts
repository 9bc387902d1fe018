import { messageOf } from "../../core/errors.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { Change, Journal, NewWork } from "../../core/journal/journal.ts";
import { integer, text } from "../../core/journal/columns.ts";
import { PENDING, READY } from "../../core/journal/conditions.ts";
import { type ChangeListener, tell, type WorkListener } from "../../core/journal/watch.ts";
import type { PostgresDatabase, Sql, TransactionSql } from "./database.ts";

export interface Changes extends Pick<Journal, "watch" | "watchChanges"> {
  /** After a commit: tells the listeners here at once, and those of other nodes. */
  publish(work: ReadonlySet<NewWork>, changes: readonly Change[], options: { areRecorded: boolean }): void;
  /** Whether this node wants to know of changes. */
  watches(): boolean;
  /** Tells nobody here any more. */
  mute(): void;
  /** Resolves when the other nodes are notified. */
  close(): Promise<void>;
}

const CHANNEL = "hookline";
const RECONNECT_MS = 1000;
const WORK: readonly NewWork[] = ["run", "delivery", "heartbeat", "lease", "cancel", "publication"];

export interface ChangesOptions {
  database: PostgresDatabase;
  /** Id of this process. */
  node: string;
  /** How often to look for work and changes, in case a notification was lost; behind PgBouncer none arrives. */
  pollMs: number;
  log: Log;
}

/**
 * Tells the nodes of new work and of changes. Notifications only say that there is something: they are sent after the commit,
 * at most one at a time, so that no commit waits for them.
 */
export function createChanges({ database, node, pollMs, log }: ChangesOptions): Changes {
  const workListeners = new Set<WorkListener>();
  const changeListeners = new Set<ChangeListener>();
  let unsent = new Set<string>();
  let sending: Promise<void> | undefined;
  let connection: Awaited<ReturnType<PostgresDatabase["connect"]>> | undefined;
  let connecting: Promise<void> = Promise.resolve();
  let reconnect: NodeJS.Timeout | undefined;
  let poll: NodeJS.Timeout | undefined;
  /** The first transaction whose changes are not read yet. */
  let cursor: string | undefined;
  /** That of the newest publication at the last look. */
  let position = 0;
  let reading: Promise<void> | undefined;
  let closed = false;

  return {
    publish(work, changes, { areRecorded }) {
      if (work.size > 0) tell(workListeners, work, log);
      if (changes.length > 0) tell(changeListeners, changes, log);
      for (const each of work) unsent.add(each);
      if (areRecorded) unsent.add("change");
      if (unsent.size > 0) sending ??= send().finally(() => (sending = undefined));
    },
    watch(listener) {
      workListeners.add(listener);
      start();
      return () => workListeners.delete(listener);
    },
    watchChanges(listener) {
      changeListeners.add(listener);
      start();
      if (changeListeners.size === 1) setWatches(true);
      return () => {
        if (changeListeners.delete(listener) && changeListeners.size === 0) setWatches(false);
      };
    },
    watches: () => changeListeners.size > 0,
    mute() {
      workListeners.clear();
      changeListeners.clear();
    },
    async close() {
      closed = true;
      clearInterval(poll);
      clearTimeout(reconnect);
      await Promise.all([sending, connecting, reading]);
      await connection?.end().catch(() => undefined);
    },
  };

  /** Again while more has come. The others' poll makes up for a notification that cannot be sent. */
  async function send(): Promise<void> {
    while (unsent.size > 0) {
      const payload = [node, ...unsent].join(" ");
      unsent = new Set();
      await quietly(({ run }) => run("SELECT pg_notify($1, $2)", [CHANNEL, payload]));
    }
  }

  function start(): void {
    if (poll || closed) return;
    poll = setInterval(() => void look(), pollMs).unref();
    connecting = listen();
  }

  async function listen({ isAgain = false } = {}): Promise<void> {
    try {
      const client = await database.connect();
      client.on("notification", ({ payload = "" }) => receive(payload));
      client.once("end", () => {
        if (connection === client) connection = undefined;
        listenLater();
      });
      connection = client;
      await client.query(`LISTEN ${CHANNEL}`);
      // Changes since the connection was lost.
      if (isAgain) await look();
    } catch (error) {
      log.debug("no notifications from the database", { error: messageOf(error) });
      await connection?.end().catch(() => undefined);
      listenLater();
    }
  }

  function listenLater(): void {
    clearTimeout(reconnect);
    if (!closed) reconnect = setTimeout(() => (connecting = listen({ isAgain: true })), RECONNECT_MS).unref();
  }

  function receive(payload: string): void {
    const [sender, ...subjects] = payload.split(" ");
    if (sender === node || closed) return;
    const work = WORK.filter((each) => subjects.includes(each));
    if (work.length > 0) tell(workListeners, new Set(work), log);
    if (subjects.includes("change")) void readChanges();
  }

  async function look(): Promise<void> {
    if (changeListeners.size > 0) void readChanges();
    if (workListeners.size === 0) return;
    const row = await quietly(({ get }) => get(DUE, [position]));
    if (row) position = integer(row.position);
    const due = WORK.filter((each) => row?.[each] === 1);
    if (due.length > 0 && !closed) tell(workListeners, new Set(due), log);
  }

  function setWatches(watches: boolean): void {
    void quietly(async (sql) => {
      if (watches) cursor = await readCursor(sql);
      await sql.run("UPDATE hookline.nodes SET watches = $2 WHERE id = $1", [node, watches]);
    });
  }

  function readChanges(): Promise<void> {
    reading ??= read().finally(() => (reading = undefined));
    return reading;
  }

  /** Reads changes of transactions that had all ended: an older one can still be committed after a younger one. */
  async function read(): Promise<void> {
    const from = cursor;
    if (from === undefined) {
      // The read for the first listener has failed.
      cursor = await quietly(readCursor);
      return;
    }
    const row = await quietly(({ get }) => get(READ_CHANGES, [from, node]));
    if (!row || closed) return;
    cursor = text(row.next);
    const batches: string[] = JSON.parse(text(row.changes));
    for (const batch of batches) {
      const changes: Change[] = JSON.parse(batch);
      tell(changeListeners, changes, log);
    }
  }

  /** Who writes will log why the database cannot be reached. */
  async function quietly<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result | undefined> {
    try {
      return await database.read(work);
    } catch (error) {
      log.debug("the database cannot be read", { error: messageOf(error) });
      return undefined;
    }
  }
}

/** In the transaction that made them. */
export function recordChanges({ withCommit }: TransactionSql, node: string, changes: readonly Change[]): void {
  if (changes.length === 0) return;
  withCommit("INSERT INTO hookline.changes (node, changes) VALUES ($1, $2)", [node, JSON.stringify(changes)]);
}

/**
 * Makes a transaction wait at its commit until a synchronous standby has all earlier commits too. One that only reads waits for
 * none, although what it read may be lost with this server: the commit that wrote it was interrupted while it waited.
 */
export function awaitEarlierCommits({ withCommit }: TransactionSql, node: string): void {
  withCommit("INSERT INTO hookline.changes (node, changes) VALUES ($1, '[]')", [node]);
}

const DUE = `
  SELECT (EXISTS (SELECT 1 FROM hookline.runs WHERE ${READY} AND not_before IS NULL)
      OR EXISTS (SELECT 1 FROM hookline.runs WHERE ${READY} AND not_before <= hookline.now_ms()))::integer AS run,
    (EXISTS (SELECT 1 FROM hookline.deliveries WHERE ${PENDING} AND not_before IS NULL)
      OR EXISTS (SELECT 1 FROM hookline.deliveries WHERE ${PENDING} AND not_before <= hookline.now_ms()))::integer AS delivery,
    EXISTS (SELECT 1 FROM hookline.entries WHERE pending = 1 AND urgent = 1)::integer AS heartbeat,
    (position <> $1 OR EXISTS (SELECT 1 FROM hookline.publications WHERE position IS NULL))::integer AS publication,
    position
  FROM hookline.publishing`;

async function readCursor({ get }: Sql): Promise<string> {
  return text((await get("SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS next"))?.next);
}

const READ_CHANGES = `
  WITH ended AS MATERIALIZED (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS next)
  SELECT next::text, (
    SELECT coalesce(json_agg(changes ORDER BY tx, seq), '[]')::text FROM hookline.changes
    WHERE tx >= $1::xid8 AND tx < next AND node <> $2) AS changes
  FROM ended`;
