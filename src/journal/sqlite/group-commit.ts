import type { Log } from "../../telemetry/log.ts";
import type { Database } from "./database.ts";
import { toUnavailable } from "./database.ts";
import { JournalUnavailable } from "../../errors.ts";

/** Operations of one commit, at most: together they block the event loop. */
const MAX_GROUP = 256;

export interface GroupCommit {
  /**
   * Runs the operation inside a transaction that it shares with others, and resolves with its result once the commit
   * is on the disk. An operation that throws is undone alone. Rejects with `JournalUnavailable` where nothing can be
   * committed. The operation may be run twice; only the last run counts.
   */
  write<Result>(operation: () => Result): Promise<Result>;
  /** Commits what waits; every later write is refused. */
  close(): void;
}

interface Waiting {
  operation(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/**
 * While each turn of the event loop brings more, the commit waits for the next turn, at most so many times: a commit
 * costs about the same for one as for many. When nothing more comes it waits for one turn, which takes microseconds.
 */
const MAX_WAITS = 8;

interface State {
  database: Database;
  log: Log;
  queue: Waiting[];
  scheduled: boolean;
  /** How many were in the queue one turn ago, and how often the commit has waited for more. */
  seen: number;
  waits: number;
  closed: boolean;
  /** True from a commit that the storage refused to the next one that it took. */
  failing: boolean;
}

/** One fsync for everything that arrived in the same turn of the event loop. */
export function createGroupCommit(database: Database, log: Log): GroupCommit {
  const state: State = {
    database,
    log,
    queue: [],
    scheduled: false,
    seen: 0,
    waits: 0,
    closed: false,
    failing: false,
  };
  return {
    write: (operation) => new Promise((resolve, reject) => enqueue(state, { operation, resolve, reject })),
    close: () => close(state),
  };
}

function enqueue(state: State, waiting: Waiting): void {
  if (state.closed) return waiting.reject(new JournalUnavailable("the journal is closed"));
  state.queue.push(waiting);
  schedule(state);
}

function schedule(state: State): void {
  if (state.scheduled) return;
  state.scheduled = true;
  // Immediates come after the poll phase, when all requests of this turn have been read.
  setImmediate(flush, state);
}

function flush(state: State): void {
  if (grows(state)) {
    setImmediate(flush, state);
    return;
  }
  state.scheduled = false;
  if (state.closed) return;
  commit(state, state.queue.splice(0, MAX_GROUP));
  if (state.queue.length > 0) schedule(state);
}

function grows(state: State): boolean {
  const { length } = state.queue;
  const waits = length > state.seen && length < MAX_GROUP && state.waits < MAX_WAITS;
  state.seen = waits ? length : 0;
  state.waits = waits ? state.waits + 1 : 0;
  return waits;
}

function close(state: State): void {
  state.closed = true;
  while (state.queue.length > 0) commit(state, state.queue.splice(0, MAX_GROUP));
}

/** Settles everyone in the group. */
function commit(state: State, group: Waiting[]): void {
  try {
    const results = transact(state.database, group);
    noteRecovery(state);
    for (const [index, waiting] of group.entries()) waiting.resolve(results[index]);
  } catch (error) {
    fail(state, group, error);
  }
}

function transact(database: Database, group: Waiting[]): unknown[] {
  try {
    database.run("BEGIN IMMEDIATE");
    const results = group.map((waiting) => waiting.operation());
    database.run("COMMIT");
    return results;
  } catch (error) {
    // A full disk or a failed write has rolled back by itself.
    if (database.inTransaction()) database.run("ROLLBACK");
    throw error;
  }
}

function fail(state: State, group: Waiting[], error: unknown): void {
  const unavailable = toUnavailable(error);
  if (unavailable) refuse(state, [...group, ...state.queue.splice(0)], unavailable);
  else if (group.length > 1) for (const waiting of group) commit(state, [waiting]);
  else group[0]?.reject(error);
}

/** Everyone who waits is refused: each further group would wait for the same lock, and the event loop with it. */
function refuse(state: State, waiting: Waiting[], error: JournalUnavailable): void {
  if (!state.failing) state.log.error("journal refuses writes", { reason: error.message });
  state.failing = true;
  for (const each of waiting) each.reject(error);
}

function noteRecovery(state: State): void {
  if (state.failing) state.log.info("journal takes writes again");
  state.failing = false;
}
