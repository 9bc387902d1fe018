import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { ConfigError, JournalUnavailable, messageOf } from "../../errors.ts";
import { createNonce } from "../../shared/id.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Journal, RunAnswerer } from "../journal.ts";
import { acceptEvent, findReplay } from "./accept.ts";
import { claimRuns, nextDueAt } from "./claim.ts";
import { type Database, isDiskFull, type Lock, openMigrated, takeLock, toUnavailable, transact } from "./database.ts";
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
import { createTurnReader, listPendingSystemEvents } from "./entries.ts";
import { createGroupCommit, type GroupCommit, type Transaction } from "./group-commit.ts";
import { acquireLease, endNode, endOtherNodes, releaseLease, renewNode } from "./leases.ts";
import {
  countEvents,
  getEvent,
  getRun,
  getSession,
  listDeliveries,
  listEvents,
  listRuns,
  listSessions,
  readStats,
} from "./reads.ts";
import { sweep } from "./retention.ts";
import {
  completeHeartbeat,
  completeRun,
  deadLetterRun,
  failHeartbeat,
  holdRun,
  releaseHeld,
  releaseRun,
  retryRun,
} from "./runs.ts";
import { createCounters, readSpend } from "./counters.ts";
import { JOURNAL_SCHEMA } from "./schema.ts";

/** How long to wait for the lock of a process that was just killed. */
const HANDOVER_MS = 500;
/** How often a migration reports its progress. */
const REPORT_EVERY_MS = 5000;
/** The first lease of this node, until the dispatcher renews it. */
const FIRST_LEASE_MS = 60_000;

export interface SqliteJournalOptions {
  /** The state folder. */
  folder: string;
  telemetry: Telemetry;
  /** Do not lock the folder: other journals may be open on it, as other nodes. For tests of the leases. */
  shared?: boolean;
}

/**
 * The journal in one SQLite file, `journal.db` in the folder. One process owns the folder; others may read the file.
 * Rejects with a `ConfigError` if the folder or the file cannot be used.
 */
export async function createSqliteJournal(options: SqliteJournalOptions): Promise<Journal> {
  const { folder, telemetry, shared = false } = options;
  const { log } = telemetry;
  makeFolder(folder, log);
  const lock = shared ? undefined : lockFolder(folder);
  const file = fileIn(folder);
  try {
    const database = openMigrated(file, JOURNAL_SCHEMA, createReport(file, log));
    const counters = createCounters(database, { isOnlyWriter: !shared });
    const commits = createGroupCommit(database, log, counters);
    const transaction = { ...database, node: createNonce().slice(0, 12), ...commits, counters };
    recover(transaction, { isOnlyNode: !shared, log });
    return createJournal(transaction, commits, () => {
      endLease(transaction, log);
      database.close();
      lock?.release();
    });
  } catch (error) {
    lock?.release();
    throw error instanceof ConfigError ? error : toConfigError(file, "the journal cannot be opened", error);
  }
}

/**
 * Opens an existing journal file for this process alone, with all events counted. Throws a `ConfigError` if it cannot be
 * used.
 */
export function openJournalFile(folder: string, log: Log): { database: Database; release(): void } {
  const file = fileIn(folder);
  if (!existsSync(file)) throw new ConfigError([{ message: "the file does not exist", file, key: "store.path" }]);
  const lock = lockFolder(folder);
  try {
    const database = openMigrated(file, JOURNAL_SCHEMA, createReport(file, log));
    transact(database, createCounters(database, { isOnlyWriter: true }).writeNow);
    return { database, release: lock.release };
  } catch (error) {
    lock.release();
    throw error instanceof ConfigError ? error : toConfigError(file, "the journal cannot be opened", error);
  }
}

function fileIn(folder: string): string {
  return path.join(folder, "journal.db");
}

function createJournal(transaction: Transaction, commits: GroupCommit, close: () => void): Journal {
  let closed = false;
  let answerer: RunAnswerer | undefined;

  const write =
    <Args extends unknown[], Result>(operation: (transaction: Transaction, ...args: Args) => Result) =>
    (...args: Args): Promise<Result> =>
      commits.write(() => operation(transaction, ...args));

  /** Between two commits the connection sees exactly what is committed. */
  const read =
    <Args extends unknown[], Result>(operation: (database: Database, ...args: Args) => Result) =>
    async (...args: Args): Promise<Result> => {
      if (closed) throw new JournalUnavailable("the journal is closed");
      try {
        return operation(transaction, ...args);
      } catch (error) {
        throw toUnavailable(error) ?? error;
      }
    };

  return {
    accept: (event) => commits.write(() => acceptEvent(transaction, event, answerer)),
    findReplay: read(findReplay),

    claimRuns: write(claimRuns),
    completeRun: write(completeRun),
    retryRun: write(retryRun),
    releaseRun: write(releaseRun),
    holdRun: write(holdRun),
    releaseHeld: write(releaseHeld),
    spend: read(readSpend),
    deadLetterRun: write(deadLetterRun),

    pendingSystemEvents: read(listPendingSystemEvents),
    completeHeartbeat: write(completeHeartbeat),
    failHeartbeat: write(failHeartbeat),

    claimDeliveries: write(claimDeliveries),
    progressDelivery: write(progressDelivery),
    retryDelivery: write(retryDelivery),
    finishDelivery: write(finishDelivery),
    wasSent: read(wasSent),
    countReplies: read(countReplies),
    lastRoute: read(lastRoute),
    nextDueAt: read(nextDueAt),

    renewNode: write((target, forMs) => renewNode(target, forMs)),
    nodes: async () => [],
    lease: write(acquireLease),
    releaseLease: write(releaseLease),
    answerRuns(asked) {
      answerer = asked;
      return () => (answerer = undefined);
    },
    joinCommits: commits.joinCommits,
    watch: commits.watch,
    watchChanges: commits.watchChanges,

    history: read(createTurnReader()),
    listEvents: read(listEvents),
    countEvents: read(countEvents),
    getEvent: read(getEvent),
    listSessions: read(listSessions),
    getSession: read(getSession),
    listRuns: read(listRuns),
    getRun: read(getRun),
    listDeliveries: read(listDeliveries),

    listDeadLetters: read(listDeadLetters),
    retryDeadLetter: write(retryDeadLetter),
    dropDeadLetter: write(dropDeadLetter),

    stats: read(readStats),
    // A write that changes something, so that it fails whenever a commit would.
    probe: write(({ run }) => void run("UPDATE totals SET probes = probes + 1")),
    sweep: write(sweep),
    async close() {
      if (closed) return;
      closed = true;
      commits.close();
      close();
    },
  };
}

/** Reports the progress of a migration that takes long. */
function createReport(file: string, log: Log): (progress: string) => void {
  let lastAt = Date.now();
  return (progress) => {
    if (Date.now() - lastAt < REPORT_EVERY_MS) return;
    lastAt = Date.now();
    log.info("the journal is being migrated to this version", { file, progress });
  };
}

function makeFolder(folder: string, log: Log): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw toConfigError(folder, "the state folder cannot be created or written to", error);
  }
  // An existing folder keeps its mode: it may be shared on purpose.
  if ((statSync(folder).mode & 0o077) !== 0) log.warn("other users can access the state folder", { folder });
}

/** The lock is a file beside `journal.db`, so that other processes can still read the journal. */
function lockFolder(folder: string): Lock {
  const file = path.join(folder, "owner.lock");
  let lock: Lock | undefined;
  try {
    lock = takeLock(file, HANDOVER_MS);
  } catch (error) {
    throw toConfigError(file, "the state folder cannot be used", error);
  }
  if (lock) return lock;
  const message = "another process owns this state folder; stop it, or set another folder";
  throw new ConfigError([{ message, file, key: "store.path" }]);
}

/** The lock proves that the nodes of earlier processes are dead: their leases end now, not when their time is over. */
function recover(transaction: Transaction, { isOnlyNode, log }: { isOnlyNode: boolean; log: Log }): void {
  try {
    const recovered = transact(transaction, () => {
      if (isOnlyNode) endOtherNodes(transaction);
      return renewNode(transaction, FIRST_LEASE_MS);
    });
    if (recovered.runs + recovered.deliveries > 0) log.info("recovered interrupted work", recovered);
  } catch (error) {
    // The service can start and answer reads. The work is recovered once there is space and the old leases have expired.
    if (!isDiskFull(error)) throw error;
    log.warn("interrupted work not recovered: the disk is full");
  }
}

/** Without it, other nodes would wait for the lease to end. */
function endLease(transaction: Transaction, log: Log): void {
  try {
    endNode(transaction);
  } catch (error) {
    log.warn("the lease of this process could not be ended", { error: messageOf(error) });
  }
}

function toConfigError(file: string, what: string, error: unknown): ConfigError {
  return new ConfigError([{ message: `${what} (${messageOf(error)})`, file, key: "store.path" }]);
}
