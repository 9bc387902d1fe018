import type { Run, RunLimit, RunLimits } from "../journal.ts";
import { readRun } from "./coalesce.ts";
import { type Database, integer, text } from "./database.ts";
import { SELECT_RUNS } from "./rows.ts";

/*
 * Runs that are ready stand in one queue a mapping: what a mapping's limits hold back is never looked at by a claim, and
 * holds up no other mapping.
 */

/** The journal's `claimRuns`. */
export function claimRuns(database: Database, limit: number, now: number, limits?: RunLimits): Run[] {
  const due = listReadyMappings(database).flatMap((mapping) => {
    const room = roomOf(database, { mapping, limit: limits?.get(mapping) }, now);
    return listDue(database, mapping, Math.min(limit, room), now);
  });
  return due
    .toSorted((a, b) => a.dueAt - b.dueAt || a.seq - b.seq)
    .slice(0, limit)
    .map(({ seq, mapping }) => {
      const rate = limits?.get(mapping)?.rate;
      if (rate) noteStart(database, { mapping, seq, at: now }, rate);
      return startRun(database, seq, now);
    });
}

/** When the next run may start. One that waits for the end of another of its mapping is not looked at. */
export function nextRunAt(database: Database, limits?: RunLimits): number | undefined {
  const moments = listReadyMappings(database).flatMap((mapping) => {
    const { concurrency, rate } = limits?.get(mapping) ?? {};
    if (placesOf(database, mapping, concurrency) <= 0) return [];
    const [first] = listDue(database, mapping, 1, Number.MAX_SAFE_INTEGER);
    return Math.max(first?.dueAt ?? 0, rate ? nextStartAt(database, mapping, rate) : 0);
  });
  return moments.length === 0 ? undefined : Math.min(...moments);
}

interface Due {
  seq: number;
  dueAt: number;
  mapping: string;
}

/** Steps from one mapping to the next in the index, whatever the number of runs between them. */
function listReadyMappings(database: Database): string[] {
  const rows = database.all(
    `WITH RECURSIVE ready (mapping) AS (
       SELECT min(mapping) FROM runs INDEXED BY runs_due WHERE state = 'ready'
       UNION ALL
       SELECT (SELECT min(mapping) FROM runs INDEXED BY runs_due WHERE state = 'ready' AND mapping > ready.mapping)
       FROM ready WHERE ready.mapping IS NOT NULL)
     SELECT mapping FROM ready WHERE mapping IS NOT NULL`,
  );
  return rows.map((row) => text(row.mapping));
}

function listDue(database: Database, mapping: string, limit: number, now: number): Due[] {
  if (limit <= 0) return [];
  const rows = database.all(
    `SELECT seq, due_at FROM runs INDEXED BY runs_due WHERE state = 'ready' AND mapping = ? AND due_at <= ?
     ORDER BY due_at, seq LIMIT ?`,
    mapping,
    now,
    limit,
  );
  return rows.map((row) => ({ seq: integer(row.seq), dueAt: integer(row.due_at), mapping }));
}

/** How many more of a mapping's runs may start now. */
function roomOf(
  database: Database,
  { mapping, limit }: { mapping: string; limit: RunLimit | undefined },
  now: number,
): number {
  const { concurrency, rate } = limit ?? {};
  const places = placesOf(database, mapping, concurrency);
  return rate ? Math.min(places, startsLeft(database, mapping, rate, now)) : places;
}

function placesOf(database: Database, mapping: string, concurrency: number | undefined): number {
  if (concurrency === undefined) return Infinity;
  const row = database.get(
    "SELECT count(*) AS running FROM runs INDEXED BY runs_running WHERE state = 'running' AND mapping = ?",
    mapping,
  );
  return concurrency - integer(row?.running);
}

/** What runs is joined by no one any more. */
function startRun(database: Database, seq: number, now: number): Run {
  database.run(
    "UPDATE runs SET state = 'running', attempts = attempts + 1, started_at = ?, coalesce_key = NULL WHERE seq = ?",
    now,
    seq,
  );
  return readRun(database, database.get(`${SELECT_RUNS} WHERE seq = ?`, seq) ?? {});
}

/*
 * When runs of mappings with a rate limit started: as many as their period holds. A moment after `now` is of a clock
 * that was set back since; it counts for nothing, or it would hold its mapping until it comes again.
 */

type Rate = NonNullable<RunLimit["rate"]>;

/** How many more of a mapping's runs may start now. */
function startsLeft(database: Database, mapping: string, { max, perMs }: Rate, now: number): number {
  const row = database.get(
    "SELECT count(*) AS starts FROM run_starts WHERE mapping = ? AND started_at > ? AND started_at <= ?",
    mapping,
    now - perMs,
    now,
  );
  return max - integer(row?.starts);
}

/** The moment from which on the last `max` starts leave room for another; passed where they do. */
function nextStartAt(database: Database, mapping: string, { max, perMs }: Rate): number {
  const row = database.get(
    "SELECT started_at FROM run_starts WHERE mapping = ? ORDER BY started_at DESC LIMIT 1 OFFSET ?",
    mapping,
    max - 1,
  );
  return row ? integer(row.started_at) + perMs : 0;
}

/** Notes a start, and forgets those that count no longer. */
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
