import type { EventStatus } from "../../types.ts";
import type { Database } from "./database.ts";

/** Counts of an event's runs and deliveries. */
export interface EventChange {
  /** By how many the unfinished ones grow; negative where some ended. */
  open: number;
  /** How many failed for good. */
  lost: number;
}

/** Of the event that was inserted just before. */
export function insertEventState(database: Database, event: { hook: string; status: EventStatus; open: number }): void {
  database.run(
    "INSERT OR FAIL INTO event_states (seq, hook, status, open, lost) VALUES (last_insert_rowid(), ?, ?, ?, 0)",
    event.hook,
    event.status,
    event.open,
  );
}

/**
 * Books what became of a run, or of one of its deliveries, on the run's event and on those that joined it; with the last
 * of an event's the event is done, or dead.
 */
export function bookEvent(
  database: Database,
  { eventId, runId }: { eventId: string | undefined; runId: string },
  change: EventChange,
): void {
  if (eventId === undefined) return;
  database.run(
    `UPDATE event_states SET open = open + ?2, lost = lost + ?3,
       status = CASE WHEN open + ?2 > 0 THEN 'accepted' WHEN lost + ?3 > 0 THEN 'dead' ELSE 'done' END
     WHERE seq IN (SELECT seq FROM events WHERE id IN (
       SELECT ?1 UNION
       SELECT joined_events.event_id FROM joined_events JOIN runs ON seq = run_seq WHERE runs.id = ?4))`,
    eventId,
    change.open,
    change.lost,
    runId,
  );
}
