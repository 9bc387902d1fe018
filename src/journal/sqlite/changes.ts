import type { DeliveryState, RunState } from "../../types.ts";
import { optional, type Row, text } from "../rows.ts";
import type { Transaction } from "./group-commit.ts";

/*
 * What the operations of a commit tell those who watch changes. Without a watcher nothing is read. A run is given by its
 * `seq`, a delivery by a row with its `id`, and the `run_id` and `event_id` of its run.
 */

export function reportRun(transaction: Transaction, seq: number, state: RunState): void {
  if (!transaction.isWatched()) return;
  const row = readRun(transaction, seq);
  transaction.report({ kind: "run", ...idsOf(row), state });
  reportEvents(transaction, row);
}

export function reportDelivery(transaction: Transaction, row: Row, state: DeliveryState): void {
  if (!transaction.isWatched()) return;
  transaction.report({ kind: "delivery", ...idsOf(row), state });
  reportEvents(transaction, row);
}

/** A run or a delivery became a dead letter, or is none any more. */
export function reportDeadLetter(transaction: Transaction, letter: number | Row, isDead: boolean): void {
  if (!transaction.isWatched()) return;
  const row = typeof letter === "number" ? readRun(transaction, letter) : letter;
  transaction.report({ kind: "dead-letter", ...idsOf(row), isDead });
  reportEvents(transaction, row);
}

function readRun(transaction: Transaction, seq: number): Row {
  return transaction.get(READ_RUN, seq) ?? {};
}

const READ_RUN = `
  SELECT runs.id, runs.id AS run_id, events.id AS event_id FROM runs LEFT JOIN events ON events.seq = event_seq
  WHERE runs.seq = ?`;

function idsOf({ id, event_id: eventId = null }: Row): { id: string; eventId: string | undefined } {
  return { id: text(id), eventId: optional(text, eventId) };
}

/** The event of a run, and those that joined it. */
function reportEvents(transaction: Transaction, { run_id: runId, event_id: eventId = null }: Row): void {
  if (eventId === null) return;
  transaction.report({ kind: "event", id: text(eventId) });
  for (const { id } of transaction.all(JOINED_EVENTS, text(runId))) transaction.report({ kind: "event", id: text(id) });
}

const JOINED_EVENTS = `
  SELECT events.id FROM runs JOIN joined_events ON run_seq = runs.seq JOIN events ON events.seq = joined_events.event_seq
  WHERE runs.id = ?`;
