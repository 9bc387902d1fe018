import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { ConfigError, JournalUnavailable } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { type Journal } from "../journal.ts";
import { acceptEvent, findReplay } from "./accept.ts";
import { claimRuns } from "./claim.ts";
import { type Database, type Lock, openDatabase, takeLock, toUnavailable } from "./database.ts";
import {
  claimDeliveries,
  finishDelivery,
  lastRoute,
  progressDelivery,
  releaseDeliveries,
  retryDelivery,
} from "./deliveries.ts";
import { listPendingSystemEvents, listTurns } from "./entries.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import {
  dropDeadLetter,
  getEvent,
  getSession,
  listDeadLetters,
  listDeliveries,
  listEvents,
  listRuns,
  listSessions,
  nextDueAt,
  readStats,
  retryDeadLetter,
} from "./reads.ts";
import { sweep } from "./retention.ts";
import { buryRun, completeHeartbeat, completeRun, failHeartbeat, releaseRun, releaseRuns, retryRun } from "./runs.ts";
import { migrate, requireKnownVersion } from "./schema.ts";

/**
 * The journal in one SQLite file, `journal.db` in the folder. One process owns the folder; others may read the file.
 * Rejects with a `ConfigError` where the folder or the file cannot be used.
 */
export async function createSqliteJournal({
  folder,
  telemetry,
}: {
  folder: string;
  telemetry: Telemetry;
}): Promise<Journal> {
  const { log } = telemetry;
  const store = openStore(folder, log);
  const state: State = { store, commits: createGroupCommit(store.database, log), closed: false };
  return { ...writes(state), ...reads(state), close: async () => close(state) };
}

interface State {
  store: Store;
  commits: GroupCommit;
  closed: boolean;
}

function writes(state: State) {
  const write = <Result>(operation: (database: Database) => Result): Promise<Result> =>
    state.commits.write(() => operation(state.store.database));
  return {
    accept: (event) => write((database) => acceptEvent(database, event)),
    claimRuns: (limit, now, limits) => write((database) => claimRuns(database, limit, now, limits)),
    completeRun: (runId, outcome) => write((database) => completeRun(database, runId, outcome)),
    retryRun: (runId, dueAt, error) => write((database) => retryRun(database, runId, dueAt, error)),
    releaseRun: (runId) => write((database) => releaseRun(database, runId)),
    buryRun: (runId, failure) => write((database) => buryRun(database, runId, failure)),
    completeHeartbeat: (run, outcome) => write((database) => completeHeartbeat(database, run, outcome)),
    failHeartbeat: (run) => write((database) => failHeartbeat(database, run)),
    claimDeliveries: (limit, now) => write((database) => claimDeliveries(database, limit, now)),
    progressDelivery: (id, partsSent, route) => write((database) => progressDelivery(database, id, partsSent, route)),
    retryDelivery: (id, dueAt, error) => write((database) => retryDelivery(database, id, dueAt, error)),
    finishDelivery: (id, end) => write((database) => finishDelivery(database, id, end)),
    retryDeadLetter: (id, now) => write((database) => retryDeadLetter(database, id, now)),
    dropDeadLetter: (id) => write((database) => dropDeadLetter(database, id)),
    probe: () => write(probe),
    sweep: (retention) => write((database) => sweep(database, retention)),
  } satisfies Partial<Journal>;
}

/** Between two commits the connection sees what is committed, and nothing else. */
function reads(state: State) {
  const read = async <Result>(operation: (database: Database) => Result): Promise<Result> => {
    if (state.closed) throw new JournalUnavailable("the journal is closed");
    try {
      return operation(state.store.database);
    } catch (error) {
      throw toUnavailable(error) ?? error;
    }
  };
  return {
    findReplay: (scope, key, fingerprint) => read((database) => findReplay(database, scope, key, fingerprint)),
    pendingSystemEvents: (limit) => read((database) => listPendingSystemEvents(database, limit)),
    lastRoute: (channel) => read((database) => lastRoute(database, channel)),
    nextDueAt: (limits) => read((database) => nextDueAt(database, limits)),
    history: (sessionKey, limit) => read((database) => listTurns(database, sessionKey, limit)),
    listEvents: (page) => read((database) => listEvents(database, page)),
    getEvent: (id) => read((database) => getEvent(database, id)),
    listSessions: (page) => read((database) => listSessions(database, page)),
    getSession: (key, page) => read((database) => getSession(database, key, page)),
    listRuns: (page) => read((database) => listRuns(database, page)),
    listDeliveries: (page) => read((database) => listDeliveries(database, page)),
    listDeadLetters: (page) => read((database) => listDeadLetters(database, page)),
    stats: () => read(readStats),
  } satisfies Partial<Journal>;
}

/** A write that changes something, so that it meets what every commit meets. */
function probe(database: Database): void {
  database.run("UPDATE totals SET probes = probes + 1");
}

function close(state: State): void {
  if (state.closed) return;
  state.closed = true;
  state.commits.close();
  state.store.close();
}

/** How long a write waits for another process's lock. Short: the event loop waits with it. */
const BUSY_TIMEOUT_MS = 100;
/** How long a predecessor that was just killed may take to let go of the folder. */
const HANDOVER_MS = 500;

/**
 * FULL: a commit returns once the log is on the disk. The cache is in KiB. The limit, in bytes, is what a log that a
 * burst made long is cut back to.
 */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -16384;
  PRAGMA journal_size_limit = 67108864;
`;

interface Store {
  database: Database;
  close(): void;
}

/**
 * Makes the folder, takes it for this process alone, and opens `journal.db` in it: brought to this version, and what a
 * former process left half done ready to start again. Throws a `ConfigError` where any of that cannot be.
 */
function openStore(folder: string, log: Log): Store {
  makeFolder(folder, log);
  const lock = takeFolder(folder);
  const file = path.join(folder, "journal.db");
  try {
    const database = openJournal(file, log);
    return { database, close: () => closeAll(database, lock) };
  } catch (error) {
    lock.release();
    throw error instanceof ConfigError ? error : toConfigError(file, "the journal cannot be opened", error);
  }
}

function makeFolder(folder: string, log: Log): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw toConfigError(folder, "the state folder cannot be made, or not be written to", error);
  }
  // A folder that was there before keeps its mode: it may be shared on purpose.
  if ((statSync(folder).mode & 0o077) !== 0) log.warn("others can reach the state folder", { folder });
}

/** Two processes would claim the same runs. The lock stands beside `journal.db`, which stays readable for others. */
function takeFolder(folder: string): Lock {
  const file = path.join(folder, "owner.lock");
  const lock = openLock(file);
  if (lock) return lock;
  const message = "another process owns this state folder; stop it, or name another folder";
  throw new ConfigError([{ message, file, key: "store.path" }]);
}

function openLock(file: string): Lock | undefined {
  try {
    return takeLock(file, HANDOVER_MS);
  } catch (error) {
    throw toConfigError(file, "the state folder cannot be used", error);
  }
}

function openJournal(file: string, log: Log): Database {
  if (existsSync(file)) inspect(file);
  const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS });
  try {
    migrate(database);
    database.exec(PRAGMAS);
    recover(database, log);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Through a connection that cannot write: a later program's file is left as it is. */
function inspect(file: string): void {
  const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS, readOnly: true });
  try {
    requireKnownVersion(database, file);
  } finally {
    database.close();
  }
}

function recover(database: Database, log: Log): void {
  const runs = releaseRuns(database);
  const deliveries = releaseDeliveries(database);
  if (runs + deliveries > 0) log.info("taking up what was left half done", { runs, deliveries });
}

function closeAll(database: Database, lock: Lock): void {
  database.close();
  lock.release();
}

function toConfigError(file: string, what: string, error: unknown): ConfigError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConfigError([{ message: `${what} (${reason})`, file, key: "store.path" }]);
}
