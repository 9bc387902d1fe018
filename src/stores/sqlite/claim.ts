import type { Log } from "../../core/telemetry/log.ts";
import type { ClaimedRun, RunLimits } from "../../core/journal/journal.ts";
import { integer, optional, type Row, text, toRun } from "../../core/journal/rows.ts";
import { MAX_CORRECTION_MS, MAX_RETRY_MS, MAX_WINDOW_MS } from "../../core/journal/waits.ts";
import { type Database, isDiskFull, transact } from "./database.ts";
import { report, type Transaction } from "./group-commit.ts";
import { INTERRUPTED } from "../../core/journal/records/failed-attempt.ts";
import { insertAttempts } from "../../core/journal/writes/failed-attempts.ts";
import { countFree, findNextStart, noteStarts } from "../../core/journal/writes/limits.ts";
import { toRunReport } from "../../core/journal/writes/writer.ts";
import { RUNS, runTranslated, takeOldest, withJoined } from "./read.ts";
import { TRIED } from "./schema.ts";
import { createWriter, finish } from "./writer.ts";

/*
 * Each mapping has its own queue of ready runs: a claim never looks at what a mapping's limits hold back, and no mapping
 * delays another.
 */

export function claimRuns(
  transaction: Transaction,
  limit: number,
  now: number,
  limits: RunLimits = new Map(),
): ClaimedRun[] {
  const writer = createWriter(transaction);
  const due = listReadyMappings(transaction).flatMap((mapping) => {
    const own = limits.get(mapping);
    const free = own ? finish(countFree(writer, mapping, own, now)) : limit;
    return listDue(transaction, mapping, Math.min(limit, free), now);
  });
  const rows = takeOldest(due, limit);
  finish(noteStarts(writer, rows, limits, now));
  return rows.map(({ seq }) => startRun(transaction, integer(seq), now));
}

export function nextDueAt(transaction: Transaction, limits?: RunLimits): number | undefined {
  const now = Date.now();
  const next = Math.min(nextRunAt(transaction, now, limits), toNext(transaction.get(NEXT_DELIVERY, now)));
  return next === Infinity ? undefined : next;
}

/** When the next run may start; ignores runs that wait for another of their mapping to end. */
function nextRunAt(transaction: Transaction, now: number, limits?: RunLimits): number {
  const writer = createWriter(transaction);
  const moments = listReadyMappings(transaction).map((mapping) => {
    const own = limits?.get(mapping);
    const allowedAt = own ? finish(findNextStart(writer, mapping, own)) : 0;
    return Math.max(toNext(transaction.get(NEXT_RUN, now, mapping)), allowedAt);
  });
  return Math.min(...moments);
}

function toNext(row: Row | undefined): number {
  return optional(integer, row?.at ?? null) ?? Infinity;
}

/**
 * Given the time and a mapping. Rows that arrived or were tried later than now, by a clock that was set back since, are
 * due at 0.
 */
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
    UNION ALL SELECT * FROM (SELECT 0 FROM deliveries INDEXED BY deliveries_tried
      WHERE state = 'pending' AND not_before IS NOT NULL AND ${TRIED} > ?1 + ${MAX_CORRECTION_MS} LIMIT 1))`;

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
