import { randomInt } from "node:crypto";
import { ConfigError, JournalUnavailable, messageOf } from "../../errors.ts";
import { createNonce } from "../../shared/id.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Change, Journal, NewWork, NodeInfo } from "../journal.ts";
import { integer } from "../rows.ts";
import { acceptEvents } from "./accept.ts";
import { type Changes, createChanges, recordChanges } from "./changes.ts";
import { claimRuns, nextDueAt } from "./claim.ts";
import { readSpend } from "./counters.ts";
import { createDatabase, type PostgresDatabase, type Sql } from "./database.ts";
import { dropDeadLetter, listDeadLetters, retryDeadLetter } from "./dead-letters.ts";
import {
  claimDeliveries,
  countReplies,
  finishDelivery,
  lastRoute,
  progressDelivery,
  retryDelivery,
  wasSent,
} from "./deliveries.ts";
import { findReplay } from "./idempotency.ts";
import { acquireLease, endNode, listNodes, releaseLease, renewNode } from "./leases.ts";
import {
  countEvents,
  getEvent,
  getRun,
  getSession,
  listDeliveries,
  listEvents,
  listPendingSystemEvents,
  listRuns,
  listSessions,
  listTurns,
  readStats,
} from "./reads.ts";
import { addPartitions, sweep } from "./retention.ts";
import {
  completeHeartbeat,
  endRuns,
  failHeartbeat,
  holdRun,
  releaseHeld,
  releaseRun,
  retryRun,
  toCompletion,
} from "./runs.ts";
import { migrate, requireComplete } from "./schema.ts";
import { createGroup, type Transaction } from "./transaction.ts";

/** The first lease of this node, until it is renewed. */
const FIRST_LEASE_MS = 15_000;
const POLL_MS = 1000;

export interface PostgresJournalOptions {
  url: string;
  maxConnections: number;
  commitTimeoutMs: number;
  telemetry: Telemetry;
  /** For tests: another clock of this process, and other periods. */
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
  const { url, maxConnections, commitTimeoutMs, telemetry, now = Date.now } = options;
  const { firstLeaseMs = FIRST_LEASE_MS, pollMs = POLL_MS } = options;
  const { log } = telemetry;
  const database = createDatabase({ url, maxConnections, commitTimeoutMs, log, maxIdleMs: options.maxIdleMs });
  try {
    await migrate(database);
    await database.transact((sql) => addPartitions(sql, Date.now()));
    await requireComplete(database);
    const node = createNode(now);
    const changes = createChanges({ database, node: node.id, pollMs, log });
    const journal = createJournal(database, node, changes);
    const recovered = await journal.renewNode(firstLeaseMs);
    if (recovered.runs + recovered.deliveries > 0) log.info("recovered interrupted work", recovered);
    return journal;
  } catch (error) {
    await database.close();
    throw error instanceof ConfigError ? error : toConfigError(error);
  }
}

function toConfigError(error: unknown): ConfigError {
  const reason = messageOf(error);
  const message = error instanceof JournalUnavailable ? reason : `the database cannot be used (${reason})`;
  return new ConfigError([{ message, key: "store.url" }]);
}

interface Node {
  id: string;
  now(): number;
  /** By how many milliseconds the database's clock is ahead. */
  ahead: number;
  /** By the clock of this process. */
  lease: { forMs: number; endsAt: number };
  /** Tokens of claims whose answer never came, with the time after which nothing more comes under them. */
  lostTokens: Map<number, number>;
}

function createNode(now: () => number): Node {
  return {
    id: createNonce().slice(0, 12),
    now,
    ahead: 0,
    lease: { forMs: 0, endsAt: Infinity },
    lostTokens: new Map(),
  };
}

function createJournal(database: PostgresDatabase, node: Node, changes: Changes): PostgresJournal {
  const write =
    <Args extends unknown[], Result>(operation: (transaction: Transaction, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      commit(database, { node, changes }, (transaction) => operation(transaction, ...args));

  const read =
    <Args extends unknown[], Result>(operation: (sql: Sql, ...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> =>
      database.read((sql) => operation(sql, ...args));

  /** Others would return at once what a node claims whose lease has ended, since the database was away or it was paused. */
  const take =
    <Args extends unknown[], Result>(operation: (transaction: Transaction, ...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      if (node.now() >= node.lease.endsAt) await renew(node.lease.forMs);
      return write(operation)(...args);
    };

  const accepts = createGroup(write(acceptEvents));
  const ends = createGroup(write(endRuns));
  let closing: Promise<void> | undefined;

  return {
    commit: (operation) => write(operation)(),

    accept: (event) => accepts.add(event),
    findReplay: read(findReplay),

    claimRuns: take(claimRuns),
    completeRun: (claim, outcome) => ends.add(toCompletion(claim, outcome)),
    retryRun: write(retryRun),
    releaseRun: write(releaseRun),
    holdRun: write(holdRun),
    releaseHeld: write(releaseHeld),
    spend: read(readSpend),
    deadLetterRun: (claim, failure) => ends.add({ claim, state: "dead", ...failure, deliveries: [] }),

    pendingSystemEvents: read(listPendingSystemEvents),
    completeHeartbeat: write(completeHeartbeat),
    failHeartbeat: write(failHeartbeat),

    claimDeliveries: take(claimDeliveries),
    progressDelivery: write(progressDelivery),
    retryDelivery: write(retryDelivery),
    finishDelivery: write(finishDelivery),
    wasSent: read(wasSent),
    countReplies: read(countReplies),
    lastRoute: read(lastRoute),
    nextDueAt: read((sql, limits) => nextDueAt(sql, node.ahead, limits)),

    renewNode: renew,
    nodes: read(listNodes),
    lease: take(acquireLease),
    releaseLease: write(releaseLease),
    answerRuns: () => () => undefined,
    joinCommits: () => () => undefined,
    watch: changes.watch,
    watchChanges: changes.watchChanges,

    history: read(listTurns),
    listEvents: read((sql, page) => listEvents(sql, node.ahead, page)),
    countEvents: read(countEvents),
    getEvent: read((sql, id) => getEvent(sql, node.ahead, id)),
    listSessions: read(listSessions),
    getSession: read(getSession),
    listRuns: read((sql, page) => listRuns(sql, node.ahead, page)),
    getRun: read((sql, id) => getRun(sql, node.ahead, id)),
    listDeliveries: read((sql, page) => listDeliveries(sql, node.ahead, page)),

    listDeadLetters: read(listDeadLetters),
    retryDeadLetter: write(retryDeadLetter),
    dropDeadLetter: write(dropDeadLetter),

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

  async function renew(forMs: number, info?: NodeInfo): Promise<{ runs: number; deliveries: number }> {
    const endsAt = node.now() + forMs;
    await readClock(database, node);
    const lostTokens = takeLostTokens(node);
    const recovered = await write(renewNode)(forMs, { info, lostTokens, watches: changes.watches() });
    node.lease = { forMs, endsAt };
    return recovered;
  }

  async function close(): Promise<void> {
    await Promise.all([accepts.close(), ends.close()]);
    changes.mute();
    // Without it, other nodes wait for the lease to end.
    await write(endNode)().catch(() => undefined);
    await changes.close();
    await database.close();
  }
}

/** Runs an operation in a transaction, and reports the work that it announced. */
async function commit<Result>(
  database: PostgresDatabase,
  { node, changes }: { node: Node; changes: Changes },
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
        ahead: node.ahead,
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
      return value;
    }, ASK_WATCHED(node.id));
    changes.publish(announced, reported, { areRecorded: isWatchedElsewhere && reported.length > 0 });
    return result;
  } catch (error) {
    forgetLater(node, tokens);
    throw error;
  }
}

const ASK_WATCHED = (node: string): string => `SELECT EXISTS (
  SELECT 1 FROM hookline.nodes WHERE watches AND id <> '${node}' AND until > hookline.now_ms())::integer AS watched`;

/** A transaction whose answer is lost can still be committed, until the server has noticed. */
const LOST_FOR_MS = 120_000;

function forgetLater({ lostTokens, now }: Node, tokens: number[]): void {
  for (const token of tokens) lostTokens.set(token, now() + LOST_FOR_MS);
}

function takeLostTokens({ lostTokens, now }: Node): number[] {
  const tokens = [...lostTokens.keys()];
  for (const [token, until] of lostTokens) if (until < now()) lostTokens.delete(token);
  return tokens;
}

/** Clocks that agree to the second count as one: a smaller difference is no larger than the way there and back. */
const MIN_DIFFERENCE_MS = 1000;

async function readClock(database: PostgresDatabase, node: Node): Promise<void> {
  const before = node.now();
  const row = await database.read(({ get }) => get("SELECT hookline.now_ms() AS now"));
  const difference = integer(row?.now) - (before + node.now()) / 2;
  node.ahead = Math.abs(difference) < MIN_DIFFERENCE_MS ? 0 : Math.round(difference);
}
