import { randomInt } from "node:crypto";
import { ConfigError, JournalUnavailable, messageOf } from "../../core/errors.ts";
import { once } from "../../core/shared/once.ts";
import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import { type Log, silentLog } from "../../core/telemetry/log.ts";
import type { Change, Journal, NewWork, NodeInfo } from "../../core/journal/journal.ts";
import { bytes } from "../../core/journal/columns.ts";
import { searchEvents } from "../../core/journal/search.ts";
import { NODE_LEASE_MS } from "../../core/shared/time.ts";
import { countByMapping } from "../../core/journal/reads/events.ts";
import { createPublicationReads, createReads, type Read } from "../../core/journal/reads/index.ts";
import type { Reader } from "../../core/journal/reads/reader.ts";
import { isClaimed } from "../../core/journal/reads/runs.ts";
import { listPendingSystemEvents } from "../../core/journal/reads/sessions.ts";
import { createSign } from "../../core/shared/secret.ts";
import { acceptEvents } from "./accept.ts";
import { awaitEarlierCommits, type Changes, createChanges, recordChanges } from "./changes.ts";
import { claimRuns, claimSuspect, nextDueAt, nextSuspectAt } from "./claim.ts";
import { createDatabase, type DatabaseOptions, type PostgresDatabase, type Sql } from "./database.ts";
import { claimDeliveries, finishDelivery } from "./deliveries.ts";
import { confirmReplays, findReplay } from "./idempotency.ts";
import { acquireLease, listNodes, releaseLease, renewLease } from "./leases.ts";
import { compareClocks, createNode, createNodeLease, forgetLater, type Node, takeLostTokens } from "./node.ts";
import { readStoreId } from "../../core/journal/reads/published.ts";
import { createReader, readStats } from "./read.ts";
import { endNode, type Recovered, returnWork } from "./recovery.ts";
import { addPartitions, sweep } from "./retention.ts";
import { completeAsking, endRuns } from "./runs.ts";
import { migrate, requireComplete } from "./schema.ts";
import { createSearchReader } from "./search.ts";
import { createGroup, type Transaction } from "./transaction.ts";
import { createPublicationWrites, createWrites, type Write } from "../../core/journal/writes/index.ts";
import { toCompletion, toFailure } from "../../core/journal/writes/run-end.ts";
import { createWriter, finish } from "./writer.ts";
import { noteServed, type Served } from "../../core/journal/writes/turns.ts";

const POLL_MS = 1000;

export interface PostgresJournalOptions {
  url: string;
  /** For renewals of the lease: another way to the same database. Default: `url`. */
  leaseUrl?: string;
  maxConnections: number;
  commitTimeoutMs: number;
  /** Whether tables of an earlier version may be changed. */
  upgrade?: boolean;
  telemetry: Telemetry;
  /** For tests: connections that stay open, another clock of this process, and other periods. */
  pool?: DatabaseOptions["pool"];
  now?(): number;
  firstLeaseMs?: number;
  pollMs?: number;
  maxIdleMs?: number;
}

/** A journal in PostgreSQL, and what else can be stored there. */
export interface PostgresJournal extends Journal {
  /** Runs an operation in a transaction, as `PostgresDatabase.transact` does. */
  commit<Result>(operation: (transaction: Transaction) => Promise<Result>): Promise<Result>;
}

/**
 * A journal that many processes share. Rejects with a `ConfigError` if the database cannot be reached or used. Its tables
 * are created, and migrated.
 */
export async function createPostgresJournal(options: PostgresJournalOptions): Promise<PostgresJournal> {
  const { url, leaseUrl = url, maxConnections, commitTimeoutMs, telemetry, now = Date.now } = options;
  const { firstLeaseMs = NODE_LEASE_MS, pollMs = POLL_MS, pool, maxIdleMs } = options;
  const { log } = telemetry;
  const database = createDatabase({ url, maxConnections, commitTimeoutMs, log, maxIdleMs, pool });
  // A renewal is soon followed by the next, and logged by who asks for it.
  const leaseDatabase = createDatabase({ url: leaseUrl, maxConnections: 1, commitTimeoutMs: 0, log: silentLog, pool });
  try {
    await migrate(database, { upgrade: options.upgrade });
    await database.transact((sql) => addPartitions(sql, Date.now()));
    await requireComplete(database);
    const node = createNode(now);
    const changes = createChanges({ database, node: node.id, pollMs, log });
    const key = await database.read(({ get }) => get("SELECT key FROM hookline.signing_key"));
    const sign = createSign(bytes(key?.key));
    const journal = createJournal({ database, leaseDatabase, node, changes, log, sign });
    const recovered = await journal.renewNode(firstLeaseMs).catch((error: unknown) => {
      throw toConfigError(error, leaseUrl === url ? "store.url" : "store.leaseUrl");
    });
    await requireLease(database, node.id);
    if (recovered.runs + recovered.deliveries > 0) log.info("recovered interrupted work", recovered);
    return journal;
  } catch (error) {
    await Promise.all([database.close(), leaseDatabase.close()]);
    throw error instanceof ConfigError ? error : toConfigError(error);
  }
}

/** Throws a `ConfigError` if the leases are in another database than the work. */
async function requireLease(database: PostgresDatabase, node: string): Promise<void> {
  const row = await database.read(({ get }) => get("SELECT 1 FROM hookline.nodes WHERE id = $1", [node]));
  if (row) return;
  const message = "this is another database than that of store.url: name the same one, past the pooler";
  throw new ConfigError([{ message, key: "store.leaseUrl" }]);
}

function toConfigError(error: unknown, key = "store.url"): ConfigError {
  const reason = messageOf(error);
  const message = error instanceof JournalUnavailable ? reason : `the database cannot be used (${reason})`;
  return new ConfigError([{ message, key }]);
}

interface Parts {
  database: PostgresDatabase;
  /** With a connection that nothing but renewals of the lease waits for. */
  leaseDatabase: PostgresDatabase;
  node: Node;
  changes: Changes;
  log: Log;
  sign: Journal["sign"];
}

function createJournal(parts: Parts): PostgresJournal {
  const { database, leaseDatabase, node, changes, log, sign } = parts;
  const write =
    <Args extends unknown[], Result>(operation: (transaction: Transaction, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      commit(parts, (transaction) => operation(transaction, ...args));

  const read =
    <Args extends unknown[], Result>(operation: (sql: Sql, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      database.read((sql) => operation(sql, ...args));

  const toReader = (sql: Sql): Reader => createReader(sql, node.clockOffsetMs);

  const readShared: Read =
    (operation) =>
    (...args) =>
      database.read((sql) => operation(toReader(sql), ...args));

  const writeShared: Write = (operation) =>
    write((transaction, ...args) => finish(operation(createWriter(transaction), ...args)));

  const lease = createNodeLease(node, (forMs, info) =>
    commit({ ...parts, database: leaseDatabase }, async (transaction) => {
      const before = node.now();
      const renewal = await renewLease(transaction, forMs, { info, watches: changes.watches() });
      compareClocks(node, renewal.now, before);
      return renewal;
    }),
  );

  /** Others would return at once what a node claims whose lease has ended, since the database was away or it was paused. */
  const take =
    <Args extends unknown[], Result>(operation: (transaction: Transaction, ...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await lease.keep(0);
      return write(operation)(...args);
    };

  const accepts = createGroup(write(acceptEvents));
  const ends = createGroup(write(endRuns));
  const replays = createGroup(write(confirmReplays));
  const served: Served = new Set();
  let returning: Promise<Recovered> | undefined;
  let closing: Promise<void> | undefined;

  return {
    ...createReads(readShared),
    ...createWrites(writeShared, readShared),
    commit: (operation) => write(operation)(),

    accept: (event) => accepts.add(event),
    async findReplay(...use) {
      const found = await database.read((sql) => findReplay(sql, ...use));
      return found?.kind === "replayed" ? replays.add(found) : found;
    },

    async claimRuns(...options) {
      const runs = await take(claimRuns)(served, ...options);
      noteServed(served, runs);
      return runs;
    },
    completeRun: (claim, outcome) =>
      outcome.questions ? write(completeAsking)(claim, outcome) : ends.add(toCompletion(claim, outcome)),
    // Before a no: waits for the standby. The end of the claim may be lost with this server.
    isClaimed: async (claim) =>
      (await readShared(isClaimed)(claim)) || write((transaction) => isClaimed(toReader(transaction), claim))(),
    deadLetterRun: (claim, failure) => ends.add(toFailure(claim, failure)),

    // A heartbeat shows them to a model, so they must not be lost with this server.
    pendingSystemEvents: write(async (transaction, limit) => {
      const events = await listPendingSystemEvents(toReader(transaction), limit);
      if (events.length > 0) awaitEarlierCommits(transaction, node.id);
      return events;
    }),

    claimDeliveries: take(claimDeliveries),
    claimSuspect: take(claimSuspect),
    finishDelivery: write(finishDelivery),
    nextSuspectAt: read((sql, limits) => nextSuspectAt(sql, node, limits)),
    nextDueAt: read((sql, limits) => nextDueAt(sql, node.clockOffsetMs, limits)),

    renewNode: renew,
    usedBytes: async () => undefined,
    nodes: read(listNodes),
    keepLease: lease.keep,
    lease: take((transaction, name) => acquireLease(transaction, name, { others: lease.mayTake() })),
    releaseLease: write(releaseLease),
    watch: changes.watch,
    watchChanges: changes.watchChanges,

    searchEvents: read((sql, ...search) => searchEvents(createSearchReader(sql, node.clockOffsetMs), ...search)),
    countByMapping: readShared(countByMapping),

    publications: {
      ...createPublicationReads(readShared),
      ...createPublicationWrites(writeShared),
      storeId: once(readShared(readStoreId)),
    },

    sign,
    stats: read(readStats),
    probe: write(async ({ run, node: id }) => {
      await run("UPDATE hookline.nodes SET probes = (probes + 1) % 1000 WHERE id = $1", [id]);
    }),
    sweep: write(sweep),
    close() {
      closing ??= close();
      return closing;
    },
  };

  async function renew(forMs: number, describe?: () => NodeInfo): Promise<Recovered> {
    await lease.renew(forMs, describe?.());
    // One at a time: a return may wait for a lock longer than until the next renewal.
    if (returning) return { runs: 0, deliveries: 0 };
    const work = { lostTokens: takeLostTokens(node), others: lease.mayTake(), now: node.now() };
    returning = write(returnWork)(work).finally(() => (returning = undefined));
    return returning.catch((error: unknown) => {
      log.warn("interrupted work not returned, will try again", { error: messageOf(error) });
      return { runs: 0, deliveries: 0 };
    });
  }

  async function close(): Promise<void> {
    await Promise.all([accepts.close(), ends.close(), replays.close()]);
    changes.mute();
    // Without it, other nodes wait for the lease to end.
    await write(endNode)(node.now()).catch(() => undefined);
    await changes.close();
    await Promise.all([database.close(), leaseDatabase.close()]);
  }
}

/** Runs an operation in a transaction, and reports the work that it announced. */
async function commit<Result>(
  { database, node, changes }: Pick<Parts, "database" | "node" | "changes">,
  operation: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  let announced = new Set<NewWork>();
  let reported: Change[] = [];
  let tokens: number[] = [];
  let isWatchedElsewhere = false;
  try {
    const result = await database.transact(async (sql, { isRepeated, row }) => {
      forgetLater(node, tokens);
      announced = new Set();
      reported = [];
      tokens = [];
      const value = await operation({
        ...sql,
        node: node.id,
        clockOffsetMs: node.clockOffsetMs,
        isRepeated,
        createToken() {
          const token = randomInt(1, 2 ** 48 - 1);
          tokens.push(token);
          return token;
        },
        announce: (work) => void announced.add(work),
        report: (change) => void reported.push(change),
        isWatched: async () => changes.watches() || (await row)?.watched === 1,
      });
      isWatchedElsewhere = (await row)?.watched === 1;
      if (isWatchedElsewhere) recordChanges(sql, node.id, reported);
      // The result is about an earlier commit: that of a repeated attempt, or the one that ended a claim.
      if (isRepeated || isRefused(value)) awaitEarlierCommits(sql, node.id);
      return value;
    }, ASK_WATCHED(node.id));
    changes.publish(announced, reported, { areRecorded: isWatchedElsewhere && reported.length > 0 });
    return result;
  } catch (error) {
    forgetLater(node, tokens);
    throw error;
  }
}

/** A claim is lost, or one of several. */
function isRefused(value: unknown): boolean {
  return value === false || (Array.isArray(value) && value.includes(false));
}

const ASK_WATCHED = (node: string): string => `SELECT EXISTS (
  SELECT 1 FROM hookline.nodes WHERE watches AND id <> '${node}' AND until > hookline.now_ms())::integer AS watched`;
