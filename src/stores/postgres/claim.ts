import type { ClaimedRun, Journal, RunLimits, Suspect } from "../../core/journal/journal.ts";
import { integer, optional, type Row, text } from "../../core/journal/columns.ts";
import { byArrival, readInterruptions, toRun } from "../../core/journal/rows.ts";
import { placesOf, type Served } from "../../core/journal/writes/turns.ts";
import { countFree, findNextStart, noteStarts } from "../../core/journal/writes/limits.ts";
import { beginAlone } from "../../core/journal/writes/lives.ts";
import { findNextSuspect, findSuspect } from "../../core/journal/writes/suspect-states.ts";
import { waitFor, type Writer } from "../../core/journal/writes/writer.ts";
import type { Sql } from "./database.ts";
import { toClaimedDeliveries } from "./deliveries.ts";
import type { Node } from "./node.ts";
import { createWriter, finish } from "./writer.ts";
import { lock, mappingLock, reportAll, type Transaction } from "./transaction.ts";
import { toJson } from "./text.ts";
import { withJoined } from "./read.ts";
import { PENDING, READY, SUSPECT_DELIVERY, SUSPECT_RUN } from "../../core/journal/conditions.ts";
import { MAX_CORRECTION_MS, MAX_RETRY_MS, MAX_WINDOW_MS } from "../../core/journal/waits.ts";

export async function claimRuns(
  transaction: Transaction,
  served: Served,
  ...[limit, now, limits = new Map()]: Parameters<Journal["claimRuns"]>
): Promise<ClaimedRun[]> {
  const { withBegin, clockOffsetMs, node } = transaction;
  // The lock of each mapping protects its slots until the claims that use them are committed.
  await lock(withBegin, [...limits.keys()].map(mappingLock));
  const at = now + clockOffsetMs;
  const token = transaction.createToken();
  const writer = createWriter(transaction);
  const known = await readKnown(writer, { limits, served, at });
  const rows = await withBegin.all(CLAIM_RUNS, [limit, at, known, token, node, now]);
  await finish(noteStarts(writer, rows, limits, at));
  return toClaimed(transaction, rows.toSorted(byArrival), token);
}

async function toClaimed(transaction: Transaction, rows: Row[], token: number): Promise<ClaimedRun[]> {
  const { clockOffsetMs } = transaction;
  const runs = await withJoined(
    transaction,
    rows.map((row) => toRun(row, clockOffsetMs)),
  );
  await reportAll(
    transaction,
    runs.map(({ id, eventId }) => ({ kind: "run", id, eventId, state: "running" })),
  );
  return runs.map((run, index) => {
    const { action } = run;
    if (!action) throw new Error(`run ${run.id} has no action`);
    const row = rows[index] ?? {};
    const isReleased = row.hold_reason !== null && { released: true };
    return { ...run, action, token, ...readInterruptions(row, clockOffsetMs), ...isReleased };
  });
}

export async function claimSuspect(
  transaction: Transaction,
  now: number,
  limits: RunLimits = new Map(),
): Promise<Suspect | undefined> {
  const { clockOffsetMs, node, all } = transaction;
  await lock(transaction, [...limits.keys()].map(mappingLock));
  const at = now + clockOffsetMs;
  const writer = createWriter(transaction);
  const found = await finish(findSuspect(writer, at, limits));
  if (!found) return undefined;
  const token = transaction.createToken();
  const isRun = found.kind === "run";
  // Another node may have claimed it since.
  const rows = await all(isRun ? CLAIM_RUN : CLAIM_DELIVERY, [found.id, token, node, now]);
  if (rows.length === 0) return undefined;
  await finish(beginAlone(writer, node, at, found.id));
  if (!isRun) {
    const [work] = await toClaimedDeliveries(transaction, rows, token);
    return work && { kind: "delivery", work };
  }
  await finish(noteStarts(writer, rows, limits, at));
  const [work] = await toClaimed(transaction, rows, token);
  return work && { kind: "run", work };
}

const CLAIM_RUN = `
  UPDATE hookline.runs SET state = 'running', attempts = attempts + 1, claims = $2, node = $3, started_at = $4, not_before = NULL
  WHERE id = $1 AND ${SUSPECT_RUN} RETURNING *`;

const CLAIM_DELIVERY = `
  UPDATE hookline.deliveries SET state = 'sending', attempts = attempts + 1, claims = $2, node = $3, started_at = $4,
    not_before = NULL
  WHERE id = $1 AND ${SUSPECT_DELIVERY} RETURNING *`;

/** The first mapping with a run that meets the condition, as its index is. */
const firstMapping = (condition: string): string => `(
  SELECT least(
    (SELECT min(mapping) FROM hookline.runs WHERE ${READY} AND not_before IS NULL AND ${condition}),
    (SELECT min(mapping) FROM hookline.runs WHERE ${READY} AND not_before IS NOT NULL AND ${condition})))`;

/** Steps from one mapping to the next in the indexes, whatever the number of runs between them. */
const READY_MAPPINGS = `
  ready (mapping) AS (
    SELECT ${firstMapping("true")}
    UNION ALL
    SELECT ${firstMapping("mapping > ready.mapping")} FROM ready WHERE ready.mapping IS NOT NULL)`;

/** The claim leaves out mappings that are paused. */
const UNPAUSED =
  "(SELECT mapping FROM ready WHERE mapping IS NOT NULL AND mapping NOT IN (SELECT mapping FROM hookline.pauses)) AS ready";

/** In the order of arrival: those that need not wait, and as many of those whose wait is over. */
const dueOf = (condition: string, order: string): string => `
  SELECT * FROM (SELECT id, seq, due_at FROM hookline.runs
    WHERE ${READY} AND runs.mapping = ready.mapping AND ${condition} AND coalesce(known.slots, 1) > 0
    ORDER BY ${order} LIMIT $1 FOR UPDATE SKIP LOCKED) AS due`;

/** Due before the clock was set back. */
const isOverdue = (now: string): string => `not_before > ${now} + ${MAX_RETRY_MS}
  AND (coalesce_key IS NULL OR not_before > ${now} + ${MAX_WINDOW_MS})`;

/** The condition of a run or delivery that waits, although it arrived later than the clock says. */
const arrivedAfter = (now: string): string => `not_before IS NOT NULL AND due_at > ${now} + ${MAX_CORRECTION_MS}`;

/** Most mappings have none: one look instead of three. */
const HAS_LATER = `EXISTS (
  SELECT 1 FROM hookline.runs WHERE ${READY} AND not_before IS NOT NULL AND runs.mapping = ready.mapping)`;

/**
 * Each mapping has its own queue of ready runs: a claim never looks at what a mapping's limits hold back. They take turns as
 * `takeTurns` of the core says. Nothing joins a run that has started.
 */
const CLAIM_RUNS = `
  WITH RECURSIVE ${READY_MAPPINGS},
  busy AS MATERIALIZED (
    SELECT mapping, count(*) AS running FROM hookline.runs
    WHERE state = 'running' AND (SELECT count(mapping) FROM ready) > 1 GROUP BY mapping),
  due AS (
    SELECT id FROM (
      SELECT due.*, row_number() OVER (PARTITION BY ready.mapping ORDER BY due_at, seq) AS nth,
        coalesce(known.slots, $1) AS slots, coalesce(known.place, 0) AS place,
        coalesce(busy.running, 0) AS running
      FROM ${UNPAUSED}
      LEFT JOIN json_to_recordset($3::json) AS known (mapping text, slots integer, place integer)
        ON known.mapping COLLATE "C" = ready.mapping
      LEFT JOIN busy ON busy.mapping = ready.mapping
      CROSS JOIN LATERAL (SELECT ${HAS_LATER} AS is_found OFFSET 0) AS later
      CROSS JOIN LATERAL (
        ${dueOf("not_before IS NULL", "due_at, seq")}
        UNION ALL ${dueOf("later.is_found AND not_before <= $2", "not_before")}
        UNION ALL ${dueOf(`later.is_found AND ${isOverdue("$2")}`, "not_before")}
        UNION ALL ${dueOf(`later.is_found AND ${arrivedAfter("$2")} AND not_before > $2 AND NOT (${isOverdue("$2")})`, "due_at")}) AS due) AS queued
    WHERE nth <= slots ORDER BY running + nth, nth, place, due_at, seq LIMIT $1)
  UPDATE hookline.runs SET state = 'running', attempts = attempts + 1, claims = $4, node = $5, started_at = $6,
    coalesce_key = NULL, not_before = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM due)) RETURNING *`;

/** JSON: of each mapping how many more runs may start now, and its place in `served`. */
async function readKnown(
  writer: Writer,
  { limits, served, at }: { limits: RunLimits; served: Served; at: number },
): Promise<string> {
  const known = new Map<string, { slots?: number; place?: number }>();
  for (const [mapping, place] of placesOf(served)) known.set(mapping, { place });
  for (const [mapping, limit] of limits) {
    const free = await finish(countFree(writer, mapping, limit, at));
    known.set(mapping, { ...known.get(mapping), slots: Math.max(0, Math.min(free, MAX_INTEGER)) });
  }
  return toJson(Array.from(known, ([mapping, each]) => ({ mapping, ...each })));
}

const MAX_INTEGER = 2 ** 31 - 1;

/** By the clock of this process. */
export async function nextSuspectAt(
  sql: Sql,
  { now, clockOffsetMs }: Pick<Node, "now" | "clockOffsetMs">,
  limits: RunLimits = new Map(),
): Promise<number | undefined> {
  const reader: Pick<Writer, "all" | "get"> = {
    all: (statement, values) => waitFor(sql.all(statement, values)),
    get: (statement, values) => waitFor(sql.get(statement, values)),
  };
  const next = await finish(findNextSuspect(reader, now() + clockOffsetMs, limits));
  return next === Infinity ? undefined : next - clockOffsetMs;
}

/** By the clock of this process. */
export async function nextDueAt(
  sql: Sql,
  clockOffsetMs: number,
  limits: RunLimits = new Map(),
): Promise<number | undefined> {
  const row = await sql.get(NEXT_DELIVERY);
  const deliveryAt = optional(integer, row?.at ?? null) ?? Infinity;
  const next = Math.min(await nextRunAt(sql, limits), deliveryAt);
  return next === Infinity ? undefined : next - clockOffsetMs;
}

/** When the next run may start; ignores runs that wait for another of their mapping to end. */
async function nextRunAt(sql: Sql, limits: RunLimits): Promise<number> {
  const rows = await sql.all(
    `WITH RECURSIVE ${READY_MAPPINGS}
     SELECT mapping, ${NEXT_RUN} AS at FROM ${UNPAUSED}`,
  );
  const get: Writer["get"] = (statement, values) => waitFor(sql.get(statement, values));
  const moments = rows.map(async (row) => {
    const mapping = text(row.mapping);
    const own = limits.get(mapping);
    return Math.max(integer(row.at), own ? await finish(findNextStart({ get }, mapping, own)) : 0);
  });
  return Math.min(...(await Promise.all(moments)));
}

/** Rows that arrived later than now, by a clock that was set back since, are due at 0. */
const NEXT_RUN = `least(
  (SELECT CASE WHEN min(due_at) <= hookline.now_ms() THEN min(due_at) WHEN min(due_at) IS NOT NULL THEN 0 END
   FROM hookline.runs WHERE ${READY} AND not_before IS NULL AND runs.mapping = ready.mapping),
  (SELECT min(not_before) FROM hookline.runs
   WHERE ${READY} AND not_before IS NOT NULL AND runs.mapping = ready.mapping),
  (SELECT 0 FROM hookline.runs
   WHERE ${READY} AND runs.mapping = ready.mapping AND ${isOverdue("hookline.now_ms()")} LIMIT 1),
  (SELECT 0 FROM hookline.runs
   WHERE ${READY} AND runs.mapping = ready.mapping AND ${arrivedAfter("hookline.now_ms()")} LIMIT 1))`;

const NEXT_DELIVERY = `SELECT least(
  (SELECT CASE WHEN min(due_at) <= hookline.now_ms() THEN min(due_at) WHEN min(due_at) IS NOT NULL THEN 0 END
   FROM hookline.deliveries WHERE ${PENDING} AND not_before IS NULL),
  (SELECT min(not_before) FROM hookline.deliveries WHERE ${PENDING} AND not_before IS NOT NULL),
  (SELECT 0 FROM hookline.deliveries
   WHERE ${PENDING} AND not_before > hookline.now_ms() + ${MAX_RETRY_MS} LIMIT 1),
  (SELECT 0 FROM hookline.deliveries WHERE ${PENDING} AND ${arrivedAfter("hookline.now_ms()")} LIMIT 1)) AS at`;
