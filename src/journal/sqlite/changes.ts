import type { DeliveryState, RunState } from "../../types.ts";
import { optional, type SqlRow, text } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

/* What the operations of a commit tell those who watch changes. Without a watcher nothing is read. */

/** The row has the run's `run_id` and `event_id`. */
export function reportRun(transaction: Transaction, row: SqlRow, state: RunState): void {
  if (!transaction.isWatched()) return;
  const eventId = optional(text, row.event_id ?? null);
  transaction.report({ kind: "run", id: text(row.run_id), eventId, state });
  reportEvents(transaction, row);
}

/** The row has the delivery's `id`, and the `run_id` and `event_id` of its run. */
export function reportDelivery(transaction: Transaction, row: SqlRow, state: DeliveryState): void {
  if (!transaction.isWatched()) return;
  const eventId = optional(text, row.event_id ?? null);
  transaction.report({ kind: "delivery", id: text(row.id), eventId, state });
  reportEvents(transaction, row);
}

/** A run or delivery became a dead letter, or is none any more. */
export function reportDeadLetter(
  transaction: Transaction,
  id: string,
  { isDead, row }: { isDead: boolean; row: SqlRow },
): void {
  if (!transaction.isWatched()) return;
  transaction.report({ kind: "dead-letter", id, eventId: optional(text, row.event_id ?? null), isDead });
  reportEvents(transaction, row);
}

/** The event of a run, and those that joined it. */
function reportEvents(transaction: Transaction, { run_id, event_id }: SqlRow): void {
  if (event_id === null || event_id === undefined) return;
  transaction.report({ kind: "event", id: text(event_id) });
  for (const joined of transaction.all(JOINED_EVENTS, text(run_id))) {
    transaction.report({ kind: "event", id: text(joined.event_id) });
  }
}

const JOINED_EVENTS = `
  SELECT joined_events.event_id FROM joined_events JOIN runs ON runs.seq = run_seq WHERE runs.id = ?`;
