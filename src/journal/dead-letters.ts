import type { Database } from "../storage/database.ts";
import { dropDelivery, reviveDelivery } from "./deliveries.ts";
import type { DeadLetter, Page } from "./port.ts";
import { toDeadLetter } from "./rows.ts";
import { dropRun, reviveRun } from "./runs.ts";

/*
 * What failed for good: dead runs of hooks and failed deliveries. A dead heartbeat is none, its system events come up
 * again with the next one.
 */

/** The journal's `listDeadLetters`. */
export function listDeadLetters(database: Database, { limit, before }: Page): DeadLetter[] {
  // No id sorts after this one.
  const values = [before ?? "~", limit];
  const rows = database.all(
    `SELECT * FROM (${DEAD_RUNS}) UNION ALL SELECT * FROM (${FAILED_DELIVERIES}) ORDER BY id DESC LIMIT ?2`,
    ...values,
  );
  return rows.map(toDeadLetter);
}

/** The journal's `retryDeadLetter`. */
export function retryDeadLetter(database: Database, id: string, now: number): boolean {
  return reviveRun(database, id, now) || reviveDelivery(database, id, now);
}

/** The journal's `dropDeadLetter`. */
export function dropDeadLetter(database: Database, id: string): boolean {
  return dropRun(database, id) || dropDelivery(database, id);
}

const DEAD_RUNS = `
  SELECT id, 'run' AS kind, event_id, hook, error, attempts, finished_at FROM runs INDEXED BY runs_dead
  WHERE state = 'dead' AND kind = 'hook' AND id < ?1 ORDER BY id DESC LIMIT ?2`;

const FAILED_DELIVERIES = `
  SELECT id, 'delivery' AS kind, event_id,
    (SELECT hook FROM events WHERE id = deliveries.event_id) AS hook,
    error, attempts, finished_at
  FROM deliveries INDEXED BY deliveries_failed
  WHERE state = 'failed' AND id < ?1 ORDER BY id DESC LIMIT ?2`;
