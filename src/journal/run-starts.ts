import { integer } from "../storage/columns.ts";
import type { Database } from "../storage/database.ts";
import type { RunLimit } from "./port.ts";

/*
 * When runs of mappings with a rate limit started: as many as their period holds. A moment after `now` is of a clock
 * that was set back since; it counts for nothing, or it would hold its mapping until it comes again.
 */

type Rate = NonNullable<RunLimit["rate"]>;

/** How many more of a mapping's runs may start now. */
export function startsLeft(database: Database, mapping: string, { max, perMs }: Rate, now: number): number {
  const row = database.get(
    "SELECT count(*) AS starts FROM run_starts WHERE mapping = ? AND started_at > ? AND started_at <= ?",
    mapping,
    now - perMs,
    now,
  );
  return max - integer(row?.starts);
}

/** The moment from which on the last `max` starts leave room for another; passed where they do. */
export function nextStartAt(database: Database, mapping: string, { max, perMs }: Rate): number {
  const row = database.get(
    "SELECT started_at FROM run_starts WHERE mapping = ? ORDER BY started_at DESC LIMIT 1 OFFSET ?",
    mapping,
    max - 1,
  );
  return row ? integer(row.started_at) + perMs : 0;
}

/** Notes a start, and forgets those that count no longer. */
export function noteStart(
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
  database.run(
    "INSERT OR IGNORE INTO run_starts (mapping, started_at, run_seq) VALUES (?, ?, ?)",
    mapping,
    at,
    seq,
  );
}
