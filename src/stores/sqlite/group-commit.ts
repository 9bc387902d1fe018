import { JournalUnavailable } from "../../core/errors.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { Change, Journal, NewWork } from "../../core/journal/journal.ts";
import { text } from "../../core/journal/columns.ts";
import type { ChangeReport } from "../../core/journal/writes/writer.ts";
import { createOutage } from "../../core/journal/outage.ts";
import { type ChangeListener, tell, type WorkListener } from "../../core/journal/watch.ts";
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

export interface GroupCommit extends Pick<Journal, "watch" | "watchChanges"> {
  /**
   * Runs the operation in a transaction that it shares with others, and resolves with its result once the commit is on
   * disk. An operation that throws is undone alone. Rejects with `JournalUnavailable` if nothing can be committed. The
   * operation may run twice; only the last run counts.
   */
  write<Result>(operation: () => Result): Promise<Result>;
  /** Called by an operation: listeners learn of the work after the commit. */
  announce(work: NewWork): void;
  /** Called by an operation: listeners learn of the change after the commit. */
  report(change: Change): void;
  /** Whether anybody wants to know of changes. */
  isWatched(): boolean;
  /** Commits what is queued; later writes are rejected. */
  close(): void;
}

/** The connection as the operations of a commit use it. */
export interface Transaction extends Database, Pick<GroupCommit, "write" | "announce" | "report" | "isWatched"> {
  counters: Counters;
}

/** The first and the last part of each commit. */
export interface CommitHooks {
  begin(): void;
  /** If it throws, the transaction is undone. */
  end(): void;
}

interface QueuedWrite {
  operation(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** One fsync for everything that arrives in the same turn of the event loop. */
export function createGroupCommit(database: Database, log: Log, hooks?: CommitHooks): GroupCommit {
  const queue: QueuedWrite[] = [];
  const listeners = new Set<WorkListener>();
  const changeListeners = new Set<ChangeListener>();
  const outage = createOutage(log);
  let scheduled = false;
  /** Length of the queue one turn ago, and how often the commit has waited. */
  let seen = 0;
  let waits = 0;
  let closed = false;
  /** Work that the current transaction announces. */
  let announced = new Set<NewWork>();
  let changes: Change[] = [];

  return {
    write: (operation) => new Promise((resolve, reject) => enqueue({ operation, resolve, reject })),
    announce: (work) => void announced.add(work),
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    report(change) {
      if (changeListeners.size > 0) changes.push(change);
    },
    isWatched: () => changeListeners.size > 0,
    watchChanges(listener) {
      changeListeners.add(listener);
      return () => changeListeners.delete(listener);
    },
    close() {
      closed = true;
      while (queue.length > 0) commit(queue.splice(0, MAX_GROUP));
    },
  };

  function enqueue(write: QueuedWrite): void {
    if (closed) return write.reject(new JournalUnavailable("the journal is closed"));
    queue.push(write);
    schedule();
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // Immediates run after the poll phase, when all requests of this turn have been read.
    setImmediate(flush);
  }

  function flush(): void {
    if (shouldWait()) {
      setImmediate(flush);
      return;
    }
    scheduled = false;
    if (closed) return;
    commit(queue.splice(0, MAX_GROUP));
    if (queue.length > 0) schedule();
  }

  function shouldWait(): boolean {
    const { length } = queue;
    const isGrowing = length > seen && length < MAX_GROUP && waits < MAX_WAITS;
    seen = isGrowing ? length : 0;
    waits = isGrowing ? waits + 1 : 0;
    return isGrowing;
  }

  function commit(group: QueuedWrite[]): void {
    announced = new Set();
    changes = [];
    try {
      const results = transact(database, () => {
        hooks?.begin();
        const all = group.map(({ operation }) => operation());
        hooks?.end();
        return all;
      });
      outage.end();
      for (const [index, write] of group.entries()) write.resolve(results[index]);
    } catch (error) {
      fail(group, error);
      return;
    }
    if (announced.size > 0) tell(listeners, announced, log);
    if (changes.length > 0) tell(changeListeners, changes, log);
  }

  /** The queue is rejected too: each further group would wait for the same lock, and block the event loop. */
  function fail(group: QueuedWrite[], error: unknown): void {
    const unavailable = toUnavailable(error);
    if (unavailable) {
      outage.begin(unavailable);
      for (const write of [...group, ...queue.splice(0)]) write.reject(unavailable);
    } else if (group.length > 1) for (const write of group) commit([write]);
    else group[0]?.reject(error);
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
