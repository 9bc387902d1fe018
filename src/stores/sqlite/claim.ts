import type { ClaimedRun, Journal, RunLimits, Suspect } from "../../core/journal/journal.ts";
import { integer, optional, type Row, text } from "../../core/journal/columns.ts";
import { readInterruptions, toRun } from "../../core/journal/rows.ts";
import { PENDING, READY } from "../../core/journal/conditions.ts";
import { MAX_CORRECTION_MS, MAX_RETRY_MS, MAX_WINDOW_MS } from "../../core/journal/waits.ts";
import type { Database } from "./database.ts";
import { report, type Transaction } from "./group-commit.ts";
import { type Served, takeTurns } from "../../core/journal/writes/turns.ts";
import { countFree, findNextStart, noteStarts } from "../../core/journal/writes/limits.ts";
import { findNextSuspect, findSuspect } from "../../core/journal/writes/suspect-states.ts";
import { toRunReport } from "../../core/journal/writes/writer.ts";
import { startDelivery } from "./deliveries.ts";
import type { Node } from "./node.ts";
import { RUNS, takeOldest, withJoined } from "./read.ts";
import { TRIED } from "./schema.ts";
import { createWriter, finish } from "./writer.ts";

/*
 * Each mapping has its own queue of ready runs: a claim never looks at what a mapping's limits hold back, and mappings take
 * turns.
 */

export function claimRuns(
  transaction: Transaction,
  served: Served,
  ...[limit, now, limits = new Map()]: Parameters<Journal["claimRuns"]>
): ClaimedRun[] {
  const writer = createWriter(transaction);
  const due = listReadyMappings(transaction).map((mapping) => {
    const own = limits.get(mapping);
    const free = own ? finish(countFree(writer, mapping, own, now)) : limit;
    return listDue(transaction, mapping, Math.min(limit, free), now);
  });
  const running = due.length > 1 ? countRunning(transaction) : new Map<string, number>();
  const rows = takeTurns(due, { limit, running, served });
  finish(noteStarts(writer, rows, limits, now));
  return rows.map(({ seq }) => startRun(transaction, integer(seq), now));
}

function countRunning(database: Database): Map<string, number> {
  return new Map(database.all(RUNNING).map((row) => [text(row.mapping), integer(row.running)]));
}

const RUNNING = `
  SELECT mapping, count(*) AS running FROM runs INDEXED BY runs_state WHERE state = 'running' GROUP BY mapping`;

export function claimSuspect(
  transaction: Transaction,
  node: Node,
  now: number,
  limits: RunLimits = new Map(),
): Suspect | undefined {
  const writer = createWriter(transaction);
  const found = finish(findSuspect(writer, now, limits));
  if (!found) return undefined;
  node.beginAlone(writer, found.id);
  const seq = integer(found.row.seq);
  if (found.kind === "delivery") return { kind: "delivery", work: startDelivery(transaction, seq, now) };
  finish(noteStarts(writer, [found.row], limits, now));
  return { kind: "run", work: startRun(transaction, seq, now) };
}

export function nextSuspectAt(transaction: Transaction, limits: RunLimits = new Map()): number | undefined {
  const next = finish(findNextSuspect(createWriter(transaction), Date.now(), limits));
  return next === Infinity ? undefined : next;
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
    FROM runs INDEXED BY runs_due WHERE ${READY} AND not_before IS NULL AND mapping = ?2
    UNION ALL SELECT min(not_before)
    FROM runs INDEXED BY runs_later WHERE ${READY} AND not_before IS NOT NULL AND mapping = ?2
    UNION ALL SELECT * FROM (SELECT 0 FROM runs INDEXED BY runs_later
      WHERE ${READY} AND mapping = ?2 AND not_before > ?1 + ${MAX_RETRY_MS}
        AND (coalesce_key IS NULL OR not_before > ?1 + ${MAX_WINDOW_MS}) LIMIT 1)
    UNION ALL SELECT * FROM (SELECT 0 FROM runs INDEXED BY runs_tried
      WHERE ${READY} AND not_before IS NOT NULL AND mapping = ?2 AND ${TRIED} > ?1 + ${MAX_CORRECTION_MS} LIMIT 1))`;

const NEXT_DELIVERY = `
  SELECT min(at) AS at FROM (
    SELECT iif(min(due_at) > ?1, 0, min(due_at)) AS at
    FROM deliveries INDEXED BY deliveries_due WHERE ${PENDING} AND not_before IS NULL
    UNION ALL SELECT min(not_before)
    FROM deliveries INDEXED BY deliveries_later WHERE ${PENDING} AND not_before IS NOT NULL
    UNION ALL SELECT * FROM (SELECT 0 FROM deliveries INDEXED BY deliveries_later
      WHERE ${PENDING} AND not_before > ?1 + ${MAX_RETRY_MS} LIMIT 1)
    UNION ALL SELECT * FROM (SELECT 0 FROM deliveries INDEXED BY deliveries_tried
      WHERE ${PENDING} AND not_before IS NOT NULL AND ${TRIED} > ?1 + ${MAX_CORRECTION_MS} LIMIT 1))`;

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

const FIRST_DUE = `SELECT min(mapping) AS mapping FROM runs INDEXED BY runs_due WHERE ${READY} AND not_before IS NULL`;
const FIRST_LATER = `SELECT min(mapping) AS mapping FROM runs INDEXED BY runs_later WHERE ${READY} AND not_before IS NOT NULL`;

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
  WHERE ${READY} AND not_before IS NULL AND mapping = ? ORDER BY due_at, seq LIMIT +?`;

const DUE_AGAIN = `
  SELECT seq, due_at, mapping FROM runs INDEXED BY runs_later
  WHERE ${READY} AND mapping = ? AND not_before <= ? ORDER BY not_before LIMIT +?`;

const TOO_LONG = `
  SELECT seq, due_at, mapping FROM runs INDEXED BY runs_later
  WHERE ${READY} AND mapping = ?1 AND not_before > ?2 + ${MAX_RETRY_MS}
    AND (coalesce_key IS NULL OR not_before > ?2 + ${MAX_WINDOW_MS}) LIMIT +?3`;

const TRIED_LATER = `
  SELECT seq, due_at, mapping FROM runs INDEXED BY runs_tried
  WHERE ${READY} AND not_before IS NOT NULL AND mapping = ? AND ${TRIED} > ? LIMIT +?`;

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
  const isReleased = row.hold_reason !== null && { released: true };
  return { ...run, action, token: integer(row.claims), ...readInterruptions(row), ...isReleased };
}
