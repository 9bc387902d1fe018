import { JournalUnavailable, messageOf } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Change, NewWork } from "../journal.ts";
import { text } from "../rows.ts";
import type { ChangeReport } from "../writes/writer.ts";
import { type Database, toUnavailable, transact } from "./database.ts";
import type { Counters } from "./counters.ts";

/** Most operations in one commit: together they block the event loop. */
const MAX_GROUP = 256;

/**
 * A commit costs about the same for one operation as for many. While each turn of the event loop brings more, the commit
 * waits for the next turn, at most this often. A wait in which nothing arrives takes microseconds. On a disk, this makes an
 * accept 1.5 times as fast with 16 connections, and 1.2 times with 64.
 */
const MAX_WAITS = 8;

export interface GroupCommit {
  /**
   * Runs the operation in a transaction that it shares with others, and resolves with its result once the commit is on
   * disk. An operation that throws is undone alone. Rejects with `JournalUnavailable` if nothing can be committed. The
   * operation may run twice; only the last run counts.
   */
  write<Result>(operation: () => Result): Promise<Result>;
  /** Called by an operation: listeners learn of the work after the commit. */
  announce(work: NewWork): void;
  watch(listener: WorkListener): () => void;
  /** Called by an operation: listeners learn of the change after the commit. */
  report(change: Change): void;
  /** Whether anybody wants to know of changes. */
  isWatched(): boolean;
  watchChanges(listener: ChangeListener): () => void;
  /** Commits what is queued; later writes are rejected. */
  close(): void;
}

/** The connection as the operations of a commit use it. */
export interface Transaction extends Database, Pick<GroupCommit, "write" | "announce" | "report" | "isWatched"> {
  counters: Counters;
}

/** What each commit begins and ends with. */
export interface CommitHooks {
  begin(): void;
  /** If it throws, the transaction is undone. */
  end(): void;
}

type WorkListener = (work: ReadonlySet<NewWork>) => void;
type ChangeListener = (changes: readonly Change[]) => void;

interface QueuedWrite {
  operation(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface State {
  database: Database;
  log: Log;
  hooks: CommitHooks | undefined;
  queue: QueuedWrite[];
  scheduled: boolean;
  /** Length of the queue one turn ago, and how often the commit has waited. */
  seen: number;
  waits: number;
  closed: boolean;
  /** From a commit that the storage refused until the next one that succeeds. */
  failing: boolean;
  listeners: Set<WorkListener>;
  changeListeners: Set<ChangeListener>;
  /** What the current transaction announces. */
  announced: Set<NewWork>;
  changes: Change[];
}

/** One fsync for everything that arrives in the same turn of the event loop. */
export function createGroupCommit(database: Database, log: Log, hooks?: CommitHooks): GroupCommit {
  const state: State = {
    database,
    log,
    hooks,
    queue: [],
    scheduled: false,
    seen: 0,
    waits: 0,
    closed: false,
    failing: false,
    listeners: new Set(),
    changeListeners: new Set(),
    announced: new Set(),
    changes: [],
  };
  return {
    write: (operation) => new Promise((resolve, reject) => enqueue(state, { operation, resolve, reject })),
    announce: (work) => void state.announced.add(work),
    watch(listener) {
      state.listeners.add(listener);
      return () => state.listeners.delete(listener);
    },
    report(change) {
      if (state.changeListeners.size > 0) state.changes.push(change);
    },
    isWatched: () => state.changeListeners.size > 0,
    watchChanges(listener) {
      state.changeListeners.add(listener);
      return () => state.changeListeners.delete(listener);
    },
    close() {
      state.closed = true;
      while (state.queue.length > 0) commit(state, state.queue.splice(0, MAX_GROUP));
    },
  };
}

function enqueue(state: State, write: QueuedWrite): void {
  if (state.closed) return write.reject(new JournalUnavailable("the journal is closed"));
  state.queue.push(write);
  schedule(state);
}

function schedule(state: State): void {
  if (state.scheduled) return;
  state.scheduled = true;
  // Immediates run after the poll phase, when all requests of this turn have been read.
  setImmediate(flush, state);
}

function flush(state: State): void {
  if (shouldWait(state)) {
    setImmediate(flush, state);
    return;
  }
  state.scheduled = false;
  if (state.closed) return;
  commit(state, state.queue.splice(0, MAX_GROUP));
  if (state.queue.length > 0) schedule(state);
}

function shouldWait(state: State): boolean {
  const { length } = state.queue;
  const waits = length > state.seen && length < MAX_GROUP && state.waits < MAX_WAITS;
  state.seen = waits ? length : 0;
  state.waits = waits ? state.waits + 1 : 0;
  return waits;
}

function commit(state: State, group: QueuedWrite[]): void {
  state.announced = new Set();
  state.changes = [];
  try {
    const results = transact(state.database, () => {
      state.hooks?.begin();
      const all = group.map(({ operation }) => operation());
      state.hooks?.end();
      return all;
    });
    if (state.failing) state.log.info("journal accepts writes again");
    state.failing = false;
    for (const [index, write] of group.entries()) write.resolve(results[index]);
  } catch (error) {
    fail(state, group, error);
    return;
  }
  publish(state);
}

function fail(state: State, group: QueuedWrite[], error: unknown): void {
  const unavailable = toUnavailable(error);
  if (unavailable) rejectAll(state, group, unavailable);
  else if (group.length > 1) for (const write of group) commit(state, [write]);
  else group[0]?.reject(error);
}

/** The queue is rejected too: each further group would wait for the same lock, and block the event loop. */
function rejectAll(state: State, group: QueuedWrite[], error: JournalUnavailable): void {
  if (!state.failing) state.log.error("journal refuses writes", { reason: error.message });
  state.failing = true;
  for (const write of [...group, ...state.queue.splice(0)]) write.reject(error);
}

function publish({ listeners, changeListeners, announced, changes, log }: State): void {
  if (announced.size > 0) for (const listener of listeners) call(() => listener(announced), log);
  if (changes.length > 0) for (const listener of changeListeners) call(() => listener(changes), log);
}

function call(listener: () => void, log: Log): void {
  try {
    listener();
  } catch (error) {
    log.error("journal watcher failed", { error: messageOf(error) });
  }
}

/** Reports a change, and after it the event of its run and those that joined it. Without a watcher nothing is read. */
export function report(transaction: Transaction, { runId, ...change }: ChangeReport): void {
  if (!transaction.isWatched()) return;
  transaction.report(change);
  if (change.kind === "session" || change.eventId === undefined) return;
  transaction.report({ kind: "event", id: change.eventId });
  for (const { id } of transaction.all(JOINED_EVENTS, runId ?? change.id)) {
    transaction.report({ kind: "event", id: text(id) });
  }
}

const JOINED_EVENTS = `
  SELECT events.id FROM runs JOIN joined_events ON run_seq = runs.seq JOIN events ON events.seq = joined_events.event_seq
  WHERE runs.id = ?`;
