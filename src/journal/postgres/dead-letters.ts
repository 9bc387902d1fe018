import { isId } from "../../shared/id.ts";
import { RUN_DROPPED } from "../records/approval.ts";
import { optional, type Row, text } from "../rows.ts";
import { withdrawApprovals } from "./approvals.ts";
import { lockOf } from "./deliveries.ts";
import { updateEventCounts } from "./counters.ts";
import { lock, reportAll, sessionLock, type Transaction } from "./transaction.ts";

export async function retryDeadLetter(transaction: Transaction, id: string, now: number): Promise<boolean> {
  const letter = await lockLetter(transaction, id);
  if (!letter) return false;
  const requeue = letter.kind === "run" ? REQUEUE_RUN : REQUEUE_DELIVERY;
  const row = await transaction.get(requeue, [id, now + transaction.clockOffsetMs]);
  if (!row) return false;
  updateEventCounts(transaction, [{ ...toOrigin(row), open: 1, dead: -1 }]);
  await reportEnd(transaction, id, row);
  transaction.announce("run");
  transaction.announce("delivery");
  return true;
}

export async function dropDeadLetter(transaction: Transaction, id: string): Promise<boolean> {
  const letter = await lockLetter(transaction, id);
  const row = letter && (await transaction.get(letter.kind === "run" ? DROP_RUN : DROP_DELIVERY, [id]));
  if (!row) return false;
  updateEventCounts(transaction, [{ ...toOrigin(row), open: 0, dead: -1 }]);
  await reportEnd(transaction, id, row);
  if (letter.kind === "run") await withdrawApprovals(transaction, { runId: id }, RUN_DROPPED);
  return true;
}

/** It is no dead letter any more. */
function reportEnd(transaction: Transaction, id: string, row: Row): Promise<void> {
  const { run_id: runId, event_id: eventId } = toOrigin(row);
  return reportAll(transaction, [{ kind: "dead-letter", id, eventId, isDead: false, runId }]);
}

/** Takes the lock of its queue. */
async function lockLetter(transaction: Transaction, id: string): Promise<{ kind: "run" | "delivery" } | undefined> {
  if (!isId(id)) return undefined;
  const run = await transaction.get("SELECT session_key FROM hookline.runs WHERE id = $1", [id]);
  const delivery =
    run ?? (await transaction.get("SELECT channel, recipient FROM hookline.deliveries WHERE id = $1", [id]));
  if (!delivery) return undefined;
  await lock(transaction, [run ? sessionLock(text(run.session_key)) : lockOf(delivery)]);
  return { kind: run ? "run" : "delivery" };
}

function toOrigin(row: Row): { event_id: string | undefined; run_id: string } {
  return { event_id: optional(text, row.event_id), run_id: text(row.run_id) };
}

/* Behind what the session or the recipient has in progress. */

const REQUEUE_RUN = `
  UPDATE hookline.runs SET attempts = 0, due_at = $2, not_before = NULL, started_at = NULL, finished_at = NULL, error = NULL, unavailable_since = NULL, waiting_for = NULL,
    state = CASE WHEN EXISTS (SELECT 1 FROM hookline.runs AS other
      WHERE other.session_key = runs.session_key AND other.finished_at IS NULL) THEN 'queued' ELSE 'ready' END
  WHERE id = $1 AND state = 'dead' AND kind = 'hook' RETURNING id AS run_id, event_id`;

const REQUEUE_DELIVERY = `
  UPDATE hookline.deliveries SET attempts = 0, due_at = $2, not_before = NULL, finished_at = NULL, error = NULL,
    state = CASE WHEN EXISTS (SELECT 1 FROM hookline.deliveries AS other WHERE other.channel = deliveries.channel
      AND other.recipient IS NOT DISTINCT FROM deliveries.recipient AND other.finished_at IS NULL)
      THEN 'queued' ELSE 'pending' END
  WHERE id = $1 AND state = 'failed' RETURNING run_id, event_id`;

const DROP_RUN = `
  UPDATE hookline.runs SET state = 'dropped' WHERE id = $1 AND state = 'dead' AND kind = 'hook'
  RETURNING id AS run_id, event_id`;

const DROP_DELIVERY = `
  UPDATE hookline.deliveries SET state = 'dropped' WHERE id = $1 AND state = 'failed' RETURNING run_id, event_id`;
