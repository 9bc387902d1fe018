import type { Log } from "../../telemetry/log.ts";
import type { ClaimedRun, RunLimit, RunLimits } from "../journal.ts";
import { byArrival, integer, optional, type Row, text, toRun } from "../rows.ts";
import { MAX_CORRECTION_MS, MAX_RETRY_MS, MAX_WINDOW_MS } from "../waits.ts";
import { type Database, isDiskFull, transact } from "./database.ts";
import { report, type Transaction } from "./group-commit.ts";
import { INTERRUPTED } from "../records/failed-attempt.ts";
import { insertAttempts } from "../writes/failed-attempts.ts";
import { toRunReport } from "../writes/writer.ts";
import { RUNS, runTranslated, withJoined } from "./read.ts";

/*
 * Each mapping has its own queue of ready runs: a claim never looks at what a mapping's limits hold back, and no mapping
 * delays another.
 */

export function claimRuns(transaction: Transaction, limit: number, now: number, limits?: RunLimits): ClaimedRun[] {
  const due = listReadyMappings(transaction).flatMap((mapping) => {
    const { concurrency, rate } = limits?.get(mapping) ?? {};
    const slots = freeSlots(transaction, mapping, concurrency);
    const starts = rate ? startsLeft(transaction, mapping, rate, now) : Infinity;
    return listDue(transaction, mapping, Math.min(limit, slots, starts), now);
  });
  return takeOldest(due, limit).map((row) => {
    const [seq, mapping] = [integer(row.seq), text(row.mapping)];
    const rate = limits?.get(mapping)?.rate;
    if (rate) noteStart(transaction, { mapping, seq, at: now }, rate);
    return startRun(transaction, seq, now);
  });
}

export function nextDueAt(database: Database, limits?: RunLimits): number | undefined {
  const now = Date.now();
  const next = Math.min(nextRunAt(database, now, limits), toNext(database.get(NEXT_DELIVERY, now)));
  return next === Infinity ? undefined : next;
}

/** When the next run may start; ignores runs that wait for another of their mapping to end. */
function nextRunAt(database: Database, now: number, limits?: RunLimits): number {
  const moments = listReadyMappings(database).flatMap((mapping) => {
    const { concurrency, rate } = limits?.get(mapping) ?? {};
    if (freeSlots(database, mapping, concurrency) <= 0) return [];
    const readyAt = toNext(database.get(NEXT_RUN, now, mapping));
    return Math.max(readyAt, rate ? nextStartAt(database, mapping, rate) : 0);
  });
  return Math.min(...moments);
}

function toNext(row: Row | undefined): number {
  return optional(integer, row?.at ?? null) ?? Infinity;
}

/** The last time that is known of a run that waits. */
const TRIED = "max(due_at, coalesce(started_at, 0))";

/** Given the time and a mapping. What is due although it arrived later than now, by a clock that was set back since, is due at 0. */
const NEXT_RUN = `
  SELECT min(at) AS at FROM (
    SELECT iif(min(due_at) > ?1, 0, min(due_at)) AS at
    FROM runs INDEXED BY runs_due WHERE state = 'ready' AND not_before IS NULL AND mapping = ?2
    UNION ALL SELECT min(not_before)
    FROM runs INDEXED BY runs_later WHERE state = 'ready' AND not_before IS NOT NULL AND mapping = ?2
    UNION ALL SELECT * FROM (SELECT 0 FROM runs INDEXED BY runs_later
      WHERE state = 'ready' AND mapping = ?2 AND not_before > ?1 + ${MAX_RETRY_MS}
        AND (coalesce_key IS NULL OR not_before > ?1 + ${MAX_WINDOW_MS}) LIMIT 1)
    UNION ALL SELECT * FROM (SELECT 0 FROM runs INDEXED BY runs_tried
      WHERE state = 'ready' AND not_before IS NOT NULL AND mapping = ?2 AND ${TRIED} > ?1 + ${MAX_CORRECTION_MS} LIMIT 1))`;

const NEXT_DELIVERY = `
  SELECT min(at) AS at FROM (
    SELECT iif(min(due_at) > ?1, 0, min(due_at)) AS at
    FROM deliveries INDEXED BY deliveries_due WHERE state = 'pending' AND not_before IS NULL
    UNION ALL SELECT min(not_before)
    FROM deliveries INDEXED BY deliveries_later WHERE state = 'pending' AND not_before IS NOT NULL
    UNION ALL SELECT * FROM (SELECT 0 FROM deliveries INDEXED BY deliveries_later
      WHERE state = 'pending' AND not_before > ?1 + ${MAX_RETRY_MS} LIMIT 1)
    UNION ALL SELECT * FROM (SELECT 0 FROM deliveries INDEXED BY deliveries_arrived
      WHERE state = 'pending' AND not_before IS NOT NULL AND due_at > ?1 + ${MAX_CORRECTION_MS} LIMIT 1))`;

/** Without paused ones. Steps from one mapping to the next in each index, whatever the number of runs between them. */
function listReadyMappings(database: Database): string[] {
  const mappings = [FIRST_DUE, FIRST_LATER].flatMap((first) => {
    const found: string[] = [];
    for (
      let row = database.get(first);
      row && row.mapping !== null;
      row = database.get(`${first} AND mapping > ?`, found.at(-1))
    ) {
      found.push(text(row.mapping));
    }
    return found;
  });
  const paused = database.all("SELECT mapping FROM pauses").map((row) => text(row.mapping));
  return [...new Set(mappings).difference(new Set(paused))];
}

const FIRST_DUE =
  "SELECT min(mapping) AS mapping FROM runs INDEXED BY runs_due WHERE state = 'ready' AND not_before IS NULL";
const FIRST_LATER =
  "SELECT min(mapping) AS mapping FROM runs INDEXED BY runs_later WHERE state = 'ready' AND not_before IS NOT NULL";

/** In the order of arrival: those that need not wait, and as many of those whose wait is over. */
function listDue(database: Database, mapping: string, limit: number, now: number): Row[] {
  if (limit <= 0) return [];
  const rows = [
    ...database.all(DUE_AT_ONCE, mapping, limit),
    ...database.all(DUE_AGAIN, mapping, now, limit),
    ...database.all(TOO_LONG, mapping, now, limit),
    ...database.all(TRIED_LATER, mapping, now + MAX_CORRECTION_MS, limit),
  ];
  return takeOldest(rows, limit);
}

/** The first of what is due. A row can be there several times. */
export function takeOldest(due: Row[], limit: number): Row[] {
  return [...new Map(due.map((row) => [row.seq, row])).values()].toSorted(byArrival).slice(0, limit);
}

const DUE_AT_ONCE = `
  SELECT seq, due_at, mapping FROM runs INDEXED BY runs_due
  WHERE state = 'ready' AND not_before IS NULL AND mapping = ? ORDER BY due_at, seq LIMIT +?`;

const DUE_AGAIN = `
  SELECT seq, due_at, mapping FROM runs INDEXED BY runs_later
  WHERE state = 'ready' AND mapping = ? AND not_before <= ? ORDER BY not_before LIMIT +?`;

const TOO_LONG = `
  SELECT seq, due_at, mapping FROM runs INDEXED BY runs_later
  WHERE state = 'ready' AND mapping = ?1 AND not_before > ?2 + ${MAX_RETRY_MS}
    AND (coalesce_key IS NULL OR not_before > ?2 + ${MAX_WINDOW_MS}) LIMIT +?3`;

const TRIED_LATER = `
  SELECT seq, due_at, mapping FROM runs INDEXED BY runs_tried
  WHERE state = 'ready' AND not_before IS NOT NULL AND mapping = ? AND ${TRIED} > ? LIMIT +?`;

/** How many more of a mapping's runs may be running at once. */
function freeSlots(database: Database, mapping: string, concurrency: number | undefined): number {
  if (concurrency === undefined) return Infinity;
  const row = database.get(
    "SELECT count(*) AS running FROM runs INDEXED BY runs_state WHERE state = 'running' AND mapping = ?",
    mapping,
  );
  return concurrency - integer(row?.running);
}

/** Nothing joins a run that has started. */
const START_RUN = `
  UPDATE OR FAIL runs SET state = 'running', attempts = attempts + 1, claims = claims + 1, started_at = ?,
    coalesce_key = NULL, not_before = NULL WHERE seq = ?`;

function startRun(transaction: Transaction, seq: number, now: number): ClaimedRun {
  transaction.run(START_RUN, now, seq);
  const row = transaction.get(`SELECT * FROM ${RUNS} WHERE seq = ?`, seq) ?? {};
  const { action, ...run } = withJoined(transaction, toRun(row));
  if (!action) throw new Error(`run ${run.id} has no action`);
  report(transaction, toRunReport(row, "running"));
  return { ...run, action, token: integer(row.claims), ...(row.hold_reason !== null && { released: true }) };
}

/*
 * Start times of runs whose mapping has a rate limit. A time after `now` comes from a clock that was set back since: it is
 * ignored, or it would block its mapping until the clock reaches it again.
 */

type Rate = NonNullable<RunLimit["rate"]>;

/** How many more of a mapping's runs may start within its period. */
function startsLeft(database: Database, mapping: string, { max, perMs }: Rate, now: number): number {
  const row = database.get(
    "SELECT count(*) AS starts FROM run_starts WHERE mapping = ? AND started_at > ? AND started_at <= ?",
    mapping,
    now - perMs,
    now,
  );
  return max - integer(row?.starts);
}

/** When the last `max` starts allow another. */
function nextStartAt(database: Database, mapping: string, { max, perMs }: Rate): number {
  const row = database.get(
    "SELECT started_at FROM run_starts WHERE mapping = ? ORDER BY started_at DESC LIMIT 1 OFFSET ?",
    mapping,
    max - 1,
  );
  return row ? integer(row.started_at) + perMs : 0;
}

/** Records a start, and deletes those that no longer count. */
function noteStart(
  database: Database,
  { mapping, seq, at }: { mapping: string; seq: number; at: number },
  { perMs }: Rate,
): void {
  database.run(
    "DELETE FROM run_starts WHERE mapping = ?1 AND (started_at <= ?2 OR started_at > ?3)",
    mapping,
    at - perMs,
    at,
  );
  database.run("INSERT OR IGNORE INTO run_starts (mapping, started_at, run_seq) VALUES (?, ?, ?)", mapping, at, seq);
}

export interface Recovery {
  /** At the start. With a full disk the service starts all the same, and can answer reads. */
  begin(): void;
  /** Before a claim: it resolves once the work is recovered. */
  finish(): Promise<void>;
}

/** Returns to the queue what an earlier process had claimed. The lock proves that it is dead. */
export function createRecovery(transaction: Transaction, log: Log): Recovery {
  let isDone = false;
  let repeated: Promise<void> | undefined;

  return {
    begin() {
      try {
        end(transact(transaction, () => returnWork(transaction)));
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        log.warn("interrupted work not recovered yet: the disk is full");
      }
    },
    async finish() {
      if (isDone) return;
      repeated ??= transaction
        .write(() => returnWork(transaction))
        .then(end)
        .finally(() => (repeated = undefined));
      await repeated;
    },
  };

  function end(recovered: { runs: number; deliveries: number }): void {
    isDone = true;
    if (recovered.runs + recovered.deliveries > 0) log.info("recovered interrupted work", recovered);
  }
}

/** Attempts are kept: one of them may have crashed the process. That they were interrupted is kept too: these are few. */
function returnWork(transaction: Transaction): { runs: number; deliveries: number } {
  const { run, announce } = transaction;
  for (const work of [
    "runs AS work INDEXED BY runs_state WHERE state = 'running'",
    "deliveries AS work INDEXED BY deliveries_state WHERE state = 'sending'",
  ]) {
    runTranslated(transaction, insertAttempts(work, "NULL", "$1"), [INTERRUPTED]);
  }
  const runs = run("UPDATE runs INDEXED BY runs_state SET state = 'ready' WHERE state = 'running'");
  const deliveries = run("UPDATE deliveries INDEXED BY deliveries_state SET state = 'pending' WHERE state = 'sending'");
  if (runs > 0) announce("run");
  if (deliveries > 0) announce("delivery");
  return { runs, deliveries };
}
