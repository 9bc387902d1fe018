import type { DeliveryState, RunState } from "../../types.ts";
import type { ReadTables, ReadValue } from "../reads/reader.ts";
import type { NewDelivery } from "../records/delivery.ts";
import type { Change, Lease, NewWork } from "../records/node.ts";
import type { TurnOutcome } from "../records/run.ts";
import type { NewEntry } from "../records/session.ts";
import { optional, type Row, text } from "../columns.ts";

/*
 * The writes of both stores. Accepts, claims, the ends of runs and deliveries, leases, the state of transforms and the
 * retention of events are written by each store in its fastest way. These are in PostgreSQL's words, as the reads are. A write
 * is a generator, which waits with `yield*`. In SQLite nothing waits, since a commit is one step of the event loop.
 */

/** A part of a write, with its result. Yielded promises are waited for. */
export type Work<Result> = Generator<Promise<unknown>, Result, void>;

/** A promise as a part of a write. */
export function* waitFor<Result>(promise: Promise<Result>): Work<Result> {
  const results: Result[] = [];
  yield promise.then((result) => results.push(result));
  return results[0]!;
}

/** A result that is there already. */
export function* done<Result>(result: Result): Work<Result> {
  yield* [];
  return result;
}

export type WriteValue = ReadValue | boolean | readonly number[];

/** The transaction of a store, as these writes use it. */
export interface Writer {
  all(sql: string, values?: WriteValue[]): Work<Row[]>;
  get(sql: string, values?: WriteValue[]): Work<Row | undefined>;
  /** Gives the number of changed rows. */
  run(sql: string, values?: WriteValue[]): Work<number>;
  /** Runs a statement with each of the lists of values. */
  runEach(sql: string, lists: WriteValue[][]): Work<void>;
  /** Runs a statement together with the commit. */
  withCommit(sql: string, values: WriteValue[]): void;
  /** Takes locks that last until the commit. SQLite has one writer and needs none. */
  lock(names: string[]): Work<void>;
  holdsLease(lease: Lease): Work<boolean>;
  tables: ReadTables;
  /** By how many milliseconds the store's clock is ahead of the clock of this process. */
  clockOffsetMs: number;
  /** An earlier attempt may have been committed. */
  isRepeated: boolean;
  announce(work: NewWork): void;
  /** Whether anybody wants to know of changes. */
  isWatched(): Work<boolean>;
  /** Reports each change, and after it the event of its run and those that joined it. */
  report(reports: ChangeReport[]): Work<void>;

  /** Adds to the counts of the event of a run, and of those that joined it. */
  count(origin: Origin, change: CountChange): void;
  /** Adds to the totals that SQLite keeps. */
  addToTotals(totals: { runs?: number; deliveries?: number; systemEvents?: number }): void;
  /** With their reports. The caller counts them. */
  insertDeliveries(deliveries: NewDelivery[], at: number): Work<void>;
  /** With their reports. */
  insertEntries(entries: NewEntry[]): Work<void>;
  /** Records a heartbeat. False if it was recorded before. */
  insertHeartbeat(run: HeartbeatEnd): Work<boolean>;
}

/**
 * `open` counts the unfinished runs and deliveries of an event, `dead` those that failed permanently, `canceled` those that an
 * operator canceled or dropped. With the last open one it has failed, is else canceled, else done.
 */
export interface CountChange {
  open: number;
  dead: number;
  /** Default: 0. */
  canceled?: number;
}

/** The run and the event of a run or a delivery. */
export interface Origin {
  runId: string;
  eventId: string | undefined;
}

/** Usage of a run, and how many runs have ended with it: by default one. */
export type Used = Pick<TurnOutcome, "usage" | "cost" | "model" | "finishedAt"> & { runs?: 0 | 1 };

export interface HeartbeatEnd {
  id: string;
  startedAt: number;
  finishedAt: number;
  state: "done" | "dead";
  error?: string;
  /** From `fromOutcome`. */
  outcome?: string;
}

/** A change, and the run whose events it concerns. Default: that with its id. */
export type ChangeReport = Exclude<Change, { kind: "event" }> & { runId?: string };

export function toOrigin(row: Row): Origin {
  return { runId: text(row.run_id), eventId: optional(text, row.event_id ?? null) };
}

export function toDeliveryReport(row: Row, state: DeliveryState): Extract<Change, { kind: "delivery" }> & Origin {
  return { kind: "delivery", id: text(row.id), ...toOrigin(row), state };
}

/** The row has the run's `id` and `event_id`. */
export function toRunReport(row: Row, state: RunState): ChangeReport {
  return { kind: "run", id: text(row.id), eventId: optional(text, row.event_id ?? null), state };
}

export function* reportRun(writer: Writer, id: string, state: RunState): Work<void> {
  if (!(yield* writer.isWatched())) return;
  const row = yield* writer.get(`SELECT id, event_id FROM ${writer.tables.runs} WHERE id = $1`, [id]);
  if (row) yield* writer.report([toRunReport(row, state)]);
}

/* Names of locks. A transaction that changes the order of a queue holds its lock. */

export const sessionLock = (sessionKey: string): string => `session ${sessionKey}`;
export const windowLock = (windowKey: string): string => `window ${windowKey}`;
export const recipientLock = ({ channel, to }: { channel: string; to?: string }): string =>
  `recipient ${channel} ${to ?? ""}`;

export function recipientLockOf(row: Row): string {
  return recipientLock({ channel: text(row.channel), to: optional(text, row.recipient ?? null) });
}
