import type { RunLimit, RunLimits } from "../records/run.ts";
import { integer, type Row } from "../columns.ts";
import { MAX_CORRECTION_MS } from "../waits.ts";
import type { Work, Writer } from "./writer.ts";

/*
 * The limits of mappings. A start long after now comes from a clock that was set back since: it is ignored, or it would block
 * its mapping until the clock reaches it again. One that is a little later counts: it is another node's, or the clock was set
 * back a little.
 */

/** How many more runs of a mapping may start now. */
export function* countFree(
  { get }: Writer,
  mapping: string,
  { concurrency = Infinity, rate }: RunLimit,
  at: number,
): Work<number> {
  const used = yield* get(USED, [mapping, at - (rate?.perMs ?? 0), at + MAX_CORRECTION_MS]);
  return Math.min(concurrency - integer(used?.running), (rate?.max ?? Infinity) - integer(used?.starts));
}

/** When another run of a mapping may start; Infinity while one of them has to end first. */
export function* findNextStart(
  { get }: Pick<Writer, "get">,
  mapping: string,
  { concurrency = Infinity, rate }: RunLimit,
): Work<number> {
  const used = yield* get(USED, [mapping, 0, 0]);
  if (integer(used?.running) >= concurrency) return Infinity;
  // The last `max` starts allow another.
  const last = rate && (yield* get(NTH_START, [mapping, rate.max - 1]));
  return last ? integer(last.started_at) + rate.perMs : 0;
}

const USED = `
  SELECT (SELECT count(*) FROM hookline.runs WHERE state = 'running' AND mapping = $1) AS running,
    (SELECT count(*) FROM hookline.run_starts WHERE mapping = $1 AND started_at > $2 AND started_at <= $3) AS starts`;

const NTH_START = `
  SELECT started_at FROM hookline.run_starts WHERE mapping = $1 ORDER BY started_at DESC LIMIT 1 OFFSET $2`;

/** Records the starts of runs whose mappings have a rate, and deletes those that no longer count. */
export function* noteStarts({ run, runEach }: Writer, rows: Row[], limits: RunLimits, at: number): Work<void> {
  for (const [mapping, { rate }] of limits) {
    const started = rows.filter((row) => row.mapping === mapping);
    if (!rate || started.length === 0) continue;
    yield* run(FORGET_STARTS, [mapping, at - rate.perMs, at + MAX_CORRECTION_MS]);
    yield* runEach(
      NOTE_START,
      started.map(({ seq }) => [mapping, at, integer(seq)]),
    );
  }
}

const FORGET_STARTS = "DELETE FROM hookline.run_starts WHERE mapping = $1 AND (started_at <= $2 OR started_at > $3)";

const NOTE_START = `
  INSERT INTO hookline.run_starts (mapping, started_at, run_seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;
