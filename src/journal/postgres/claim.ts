import type { ClaimedRun, RunLimits } from "../journal.ts";
import { integer, optional, type Row, text } from "../rows.ts";
import type { Sql } from "./database.ts";
import { lock, mappingLock, reportAll, toJson, type Transaction } from "./transaction.ts";
import { toRunHere, withJoined } from "./runs.ts";

export async function claimRuns(
  transaction: Transaction,
  limit: number,
  now: number,
  limits: RunLimits = new Map(),
): Promise<ClaimedRun[]> {
  const { withBegin, ahead, node } = transaction;
  // What a limit leaves is counted and used under the mapping's lock.
  await lock(withBegin, [...limits.keys()].map(mappingLock));
  const at = now + ahead;
  const token = transaction.createToken();
  const places = await readPlaces(transaction, limits, at);
  const rows = await withBegin.all(CLAIM_RUNS, [limit, at, toJson(places), token, node, now]);
  await noteStarts(transaction, rows, limits, at);
  const sorted = rows.toSorted(byDue);
  const runs = await withJoined(
    transaction,
    sorted.map((row) => toRunHere(row, ahead)),
  );
  await reportAll(
    transaction,
    runs.map(({ id, eventId }) => ({ change: { kind: "run", id, eventId, state: "running" }, run: { id, eventId } })),
  );
  return runs.map((run, index) => {
    const { action } = run;
    if (!action) throw new Error(`run ${run.id} has no action`);
    return { ...run, action, token, ...(sorted[index]?.hold_reason !== null && { released: true }) };
  });
}

function byDue(a: Row, b: Row): number {
  return integer(a.due_at) - integer(b.due_at) || integer(a.seq) - integer(b.seq);
}

/** Steps from one mapping to the next in the index, whatever the number of runs between them. */
const READY_MAPPINGS = `
  ready (mapping) AS (
    SELECT min(mapping) FROM hookline.runs WHERE state = 'ready'
    UNION ALL
    SELECT (SELECT min(mapping) FROM hookline.runs WHERE state = 'ready' AND mapping > ready.mapping)
    FROM ready WHERE ready.mapping IS NOT NULL)`;

/**
 * Each mapping has its own queue of ready runs: a claim never looks at what a mapping's limits hold back, and no mapping
 * delays another. Nothing joins a run that has started.
 */
const CLAIM_RUNS = `
  WITH RECURSIVE ${READY_MAPPINGS},
  due AS (
    SELECT id FROM (
      SELECT due.*, row_number() OVER (PARTITION BY ready.mapping ORDER BY due_at, seq) AS nth,
        coalesce(limited.places, $1) AS places
      FROM ready
      LEFT JOIN json_to_recordset($3::json) AS limited (mapping text, places integer)
        ON limited.mapping COLLATE "C" = ready.mapping
      CROSS JOIN LATERAL (
        SELECT id, seq, due_at FROM hookline.runs
        WHERE state = 'ready' AND runs.mapping = ready.mapping AND due_at <= $2 AND coalesce(limited.places, 1) > 0
        ORDER BY due_at, seq LIMIT $1 FOR UPDATE SKIP LOCKED) AS due) AS queued
    WHERE nth <= places ORDER BY due_at, seq LIMIT $1)
  UPDATE hookline.runs SET state = 'running', attempts = attempts + 1, claims = $4, node = $5, started_at = $6,
    coalesce_key = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM due)) RETURNING *`;

interface Places {
  mapping: string;
  /** How many more of its runs may start now. */
  places: number;
}

async function readPlaces(sql: Sql, limits: RunLimits, at: number): Promise<Places[]> {
  const places: Places[] = [];
  for (const [mapping, { concurrency, rate }] of limits) {
    const row = await sql.get(USED, [mapping, at - (rate?.perMs ?? 0), at]);
    const free = (concurrency ?? Infinity) - integer(row?.running);
    const starts = (rate?.max ?? Infinity) - integer(row?.starts);
    places.push({ mapping, places: Math.max(0, Math.min(free, starts, MAX_INTEGER)) });
  }
  return places;
}

const MAX_INTEGER = 2 ** 31 - 1;

/** A start after now comes from a clock that was set back since: it would block its mapping. */
const USED = `
  SELECT (SELECT count(*) FROM hookline.runs WHERE state = 'running' AND mapping = $1) AS running,
    (SELECT count(*) FROM hookline.run_starts WHERE mapping = $1 AND started_at > $2 AND started_at <= $3) AS starts`;

/** Records the starts of mappings with a rate, and deletes those that no longer count. */
async function noteStarts({ run }: Sql, rows: Row[], limits: RunLimits, at: number): Promise<void> {
  const starts = rows.map(({ seq, mapping }) => ({ mapping: text(mapping), started_at: at, run_seq: integer(seq) }));
  for (const [mapping, { rate }] of limits) {
    const own = starts.filter((start) => start.mapping === mapping);
    if (!rate || own.length === 0) continue;
    await run("DELETE FROM hookline.run_starts WHERE mapping = $1 AND (started_at <= $2 OR started_at > $3)", [
      mapping,
      at - rate.perMs,
      at,
    ]);
    await run(
      `INSERT INTO hookline.run_starts SELECT * FROM json_to_recordset($1::json)
         AS row (mapping text, started_at bigint, run_seq bigint) ON CONFLICT DO NOTHING`,
      [toJson(own)],
    );
  }
}

/** By the clock of this process. */
export async function nextDueAt(sql: Sql, ahead: number, limits: RunLimits = new Map()): Promise<number | undefined> {
  const row = await sql.get("SELECT min(due_at) AS due_at FROM hookline.deliveries WHERE state = 'pending'");
  const deliveryAt = optional(integer, row?.due_at ?? null) ?? Infinity;
  const next = Math.min(await nextRunAt(sql, limits), deliveryAt);
  return next === Infinity ? undefined : next - ahead;
}

/** When the next run may start; ignores runs that wait for another of their mapping to end. */
async function nextRunAt(sql: Sql, limits: RunLimits): Promise<number> {
  const rows = await sql.all(
    `WITH RECURSIVE ${READY_MAPPINGS}
     SELECT mapping, (SELECT min(due_at) FROM hookline.runs WHERE state = 'ready' AND runs.mapping = ready.mapping) AS due_at
     FROM ready WHERE mapping IS NOT NULL`,
  );
  const moments = rows.map(async (row) => {
    const mapping = text(row.mapping);
    const { concurrency, rate } = limits.get(mapping) ?? {};
    const running = await sql.get(USED, [mapping, 0, 0]);
    if (integer(running?.running) >= (concurrency ?? Infinity)) return Infinity;
    const last = rate && (await sql.get(NTH_START, [mapping, rate.max - 1]));
    return Math.max(integer(row.due_at), last ? integer(last.started_at) + rate.perMs : 0);
  });
  return Math.min(...(await Promise.all(moments)));
}

/** When the last `max` starts allow another. */
const NTH_START = `
  SELECT started_at FROM hookline.run_starts WHERE mapping = $1 ORDER BY started_at DESC LIMIT 1 OFFSET $2`;
