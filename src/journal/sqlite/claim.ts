import type { ClaimedRun, RunLimit, RunLimits } from "../journal.ts";
import { reportRun, type Transaction } from "./group-commit.ts";
import type { Database } from "./database.ts";
import { integer, optional, text } from "../rows.ts";
import { SELECT_RUNS, toWholeRun } from "./runs.ts";

/*
 * Each mapping has its own queue of ready runs: a claim never looks at what a mapping's limits hold back, and no mapping
 * delays another.
 */

export function claimRuns(transaction: Transaction, limit: number, now: number, limits?: RunLimits): ClaimedRun[] {
  const due = listReadyMappings(transaction).flatMap((mapping) => {
    const { concurrency, rate } = limits?.get(mapping) ?? {};
    const places = placesOf(transaction, mapping, concurrency);
    const starts = rate ? startsLeft(transaction, mapping, rate, now) : Infinity;
    return listDue(transaction, mapping, Math.min(limit, places, starts), now);
  });
  if (due.length < limit) transaction.withdraw("run");
  return due
    .toSorted((a, b) => a.dueAt - b.dueAt || a.seq - b.seq)
    .slice(0, limit)
    .map(({ seq, mapping }) => {
      const rate = limits?.get(mapping)?.rate;
      if (rate) noteStart(transaction, { mapping, seq, at: now }, rate);
      return startRun(transaction, seq, now);
    });
}

export function nextDueAt(database: Database, limits?: RunLimits): number | undefined {
  const delivery = database.get(
    "SELECT min(due_at) AS due_at FROM deliveries INDEXED BY deliveries_due WHERE state = 'pending'",
  );
  const deliveryAt = optional(integer, delivery?.due_at ?? null) ?? Infinity;
  const next = Math.min(nextRunAt(database, limits), deliveryAt);
  return next === Infinity ? undefined : next;
}

/** When the next run may start; ignores runs that wait for another of their mapping to end. */
function nextRunAt(database: Database, limits?: RunLimits): number {
  const moments = listReadyMappings(database).flatMap((mapping) => {
    const { concurrency, rate } = limits?.get(mapping) ?? {};
    if (placesOf(database, mapping, concurrency) <= 0) return [];
    const [first] = listDue(database, mapping, 1, Number.MAX_SAFE_INTEGER);
    return Math.max(first?.dueAt ?? 0, rate ? nextStartAt(database, mapping, rate) : 0);
  });
  return Math.min(...moments);
}

interface Due {
  seq: number;
  dueAt: number;
  mapping: string;
}

/** Steps from one mapping to the next in the index, whatever the number of runs between them. */
function listReadyMappings(database: Database): string[] {
  const mappings: string[] = [];
  for (
    let row = database.get(FIRST_MAPPING);
    row && row.mapping !== null;
    row = database.get(NEXT_MAPPING, mappings.at(-1))
  ) {
    mappings.push(text(row.mapping));
  }
  return mappings;
}

const FIRST_MAPPING = "SELECT min(mapping) AS mapping FROM runs INDEXED BY runs_due WHERE state = 'ready'";
const NEXT_MAPPING = `${FIRST_MAPPING} AND mapping > ?`;

function listDue(database: Database, mapping: string, limit: number, now: number): Due[] {
  if (limit <= 0) return [];
  const rows = database.all(
    `SELECT seq, due_at FROM runs INDEXED BY runs_due WHERE state = 'ready' AND mapping = ? AND due_at <= ?
     ORDER BY due_at, seq LIMIT +?`,
    mapping,
    now,
    limit,
  );
  return rows.map((row) => ({ seq: integer(row.seq), dueAt: integer(row.due_at), mapping }));
}

/** How many more of a mapping's runs may be running at once. */
function placesOf(database: Database, mapping: string, concurrency: number | undefined): number {
  if (concurrency === undefined) return Infinity;
  const row = database.get(
    "SELECT count(*) AS running FROM runs INDEXED BY runs_state WHERE state = 'running' AND mapping = ?",
    mapping,
  );
  return concurrency - integer(row?.running);
}

/** Nothing joins a run that has started. */
const START_RUN = `
  UPDATE OR FAIL runs SET state = 'running', attempts = attempts + 1, claims = claims + 1, node = ?, started_at = ?,
    coalesce_key = NULL WHERE seq = ?`;

function startRun(transaction: Transaction, seq: number, now: number): ClaimedRun {
  transaction.run(START_RUN, transaction.node, now, seq);
  const row = transaction.get(`${SELECT_RUNS} WHERE runs.seq = ?`, seq) ?? {};
  const { action, ...run } = toWholeRun(transaction, row);
  if (!action) throw new Error(`run ${run.id} has no action`);
  reportRun(transaction, seq, "running");
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
