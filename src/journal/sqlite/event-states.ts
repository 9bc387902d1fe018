import { EVENT_STATUSES, type EventStatus } from "../../types.ts";
import { integer, oneOf, text } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

export interface NewEventState {
  seq: number;
  id: string;
  hook: string;
  status: EventStatus;
  open: number;
}

export function insertEventState(transaction: Transaction, { seq, id, hook, status, open }: NewEventState): void {
  transaction.run(
    "INSERT OR FAIL INTO event_states (seq, hook, status, open, lost) VALUES (?, ?, ?, ?, 0)",
    seq,
    hook,
    status,
    open,
  );
  transaction.changed({ kind: "event", seq, id, status });
}

/**
 * Adds to the counts of a run's event, and of those that joined it: `open` counts unfinished runs and deliveries, `lost`
 * those that failed permanently. With the last open one the event is done or dead.
 */
export function updateEventCounts(
  transaction: Transaction,
  { eventId, runId }: { eventId?: string; runId: string },
  change: { open: number; lost: number },
): void {
  if (eventId === undefined) return;
  const rows = transaction.all(
    `UPDATE event_states SET open = open + ?2, lost = lost + ?3,
       status = CASE WHEN open + ?2 > 0 THEN 'accepted' WHEN lost + ?3 > 0 THEN 'dead' ELSE 'done' END
     WHERE seq IN (SELECT seq FROM events WHERE id IN (
       SELECT ?1 UNION
       SELECT joined_events.event_id FROM joined_events JOIN runs ON seq = run_seq WHERE runs.id = ?4))
     RETURNING seq, status`,
    eventId,
    change.open,
    change.lost,
    runId,
  );
  for (const row of rows) {
    const seq = integer(row.seq);
    const id = rows.length === 1 ? eventId : text(transaction.get("SELECT id FROM events WHERE seq = ?", seq)?.id);
    transaction.changed({ kind: "event", seq, id, status: oneOf(EVENT_STATUSES, row.status) });
  }
}
