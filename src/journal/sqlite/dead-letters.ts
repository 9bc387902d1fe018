import { reportDeadLetter, type Transaction } from "./group-commit.ts";
import { RUN_DROPPED } from "../records/approval.ts";
import { integer } from "../rows.ts";
import { withdrawApprovals } from "./approvals.ts";
import { toOrigin } from "./deliveries.ts";
import { type CountChange, updateDeliveryCounts, updateRunCounts } from "./counters.ts";

export function retryDeadLetter(transaction: Transaction, id: string, now: number): boolean {
  const change = { open: 1, dead: -1 };
  if (changeRun(transaction, REQUEUE_RUN, [id, now], change)) {
    transaction.counters.add({ runs: 1 });
    transaction.announce("run");
  } else if (changeDelivery(transaction, REQUEUE_DELIVERY, [id, now], change)) {
    transaction.counters.add({ deliveries: 1 });
    transaction.announce("delivery");
  } else {
    return false;
  }
  return true;
}

export function dropDeadLetter(transaction: Transaction, id: string): boolean {
  const change = { open: 0, dead: -1 };
  if (changeRun(transaction, DROP_RUN, [id], change)) {
    withdrawApprovals(transaction, { runId: id }, RUN_DROPPED);
    return true;
  }
  return changeDelivery(transaction, DROP_DELIVERY, [id], change);
}

function changeRun(transaction: Transaction, sql: string, values: (string | number)[], change: CountChange): boolean {
  const row = transaction.get(sql, ...values);
  if (!row) return false;
  const seq = integer(row.seq);
  updateRunCounts(transaction, { seq, eventSeq: integer(row.event_seq) }, change);
  reportDeadLetter(transaction, seq, false);
  return true;
}

function changeDelivery(
  transaction: Transaction,
  sql: string,
  values: (string | number)[],
  change: CountChange,
): boolean {
  const row = transaction.get(sql, ...values);
  if (!row) return false;
  updateDeliveryCounts(transaction, toOrigin(row), change);
  reportDeadLetter(transaction, row, false);
  return true;
}

/* Behind what the session or the recipient has in progress. */

const REQUEUE_RUN = `
  UPDATE runs SET attempts = 0, due_at = ?2, not_before = NULL, started_at = NULL, finished_at = NULL, error = NULL, unavailable_since = NULL, waiting_for = NULL,
    state = iif(EXISTS (SELECT 1 FROM runs AS other
      WHERE other.session_key = runs.session_key AND other.finished_at IS NULL), 'queued', 'ready')
  WHERE id = ?1 AND state = 'dead' AND kind = 'hook' RETURNING seq, event_seq`;

const REQUEUE_DELIVERY = `
  UPDATE deliveries SET attempts = 0, due_at = ?2, not_before = NULL, finished_at = NULL, error = NULL,
    state = iif(EXISTS (SELECT 1 FROM deliveries AS other WHERE other.channel = deliveries.channel
      AND other.recipient IS deliveries.recipient AND other.finished_at IS NULL), 'queued', 'pending')
  WHERE id = ?1 AND state = 'failed' RETURNING id, run_id, event_id`;

const DROP_RUN = `
  UPDATE runs SET state = 'dropped' WHERE id = ? AND state = 'dead' AND kind = 'hook' RETURNING seq, event_seq`;

const DROP_DELIVERY = `
  UPDATE deliveries SET state = 'dropped' WHERE id = ? AND state = 'failed' RETURNING id, run_id, event_id`;
