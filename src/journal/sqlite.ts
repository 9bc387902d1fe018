import type { Log } from "../telemetry/log.ts";
import { acceptEvent, findReplay } from "./accept.ts";
import { claimRuns } from "./claim-runs.ts";
import type { Database } from "../storage/database.ts";
import { dropDeadLetter, listDeadLetters, retryDeadLetter } from "./dead-letters.ts";
import { claimDeliveries, finishDelivery, lastRoute, progressDelivery, retryDelivery } from "./deliveries.ts";
import { listPendingSystemEvents, listTurns } from "./entries.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import { completeHeartbeat, failHeartbeat } from "./heartbeats.ts";
import { openStore, type Store } from "./open.ts";
import { JournalUnavailable, type Journal } from "./port.ts";
import {
  getEvent,
  getSession,
  listDeliveries,
  listEvents,
  listRuns,
  listSessions,
  nextDueAt,
  readStats,
} from "./reads.ts";
import { sweep } from "./retention.ts";
import { buryRun, completeRun, releaseRun, retryRun } from "./runs.ts";
import { toUnavailable } from "./unavailable.ts";

/**
 * The journal in one SQLite file, `journal.db` in the folder. One process owns the folder; others may read the file.
 * Rejects with a `ConfigError` where the folder or the file cannot be used.
 */
export async function createSqliteJournal({ folder, log }: { folder: string; log: Log }): Promise<Journal> {
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
    progressDelivery: (id, partsSent, route) =>
      write((database) => progressDelivery(database, id, partsSent, route)),
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
    findReplay: (scope, key, fingerprint) =>
      read((database) => findReplay(database, scope, key, fingerprint)),
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
