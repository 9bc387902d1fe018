import type { Claim } from "../records/node.ts";
import { addFailedAttempt } from "./failed-attempts.ts";
import { toDeliveryReport, type Work, type Writer } from "./writer.ts";

export function retryDelivery(writer: Writer, claim: Claim, dueAt: number, error: string): Work<boolean> {
  return postpone(writer, claim, { dueAt, error, uncounted: 0 });
}

export function giveBackDelivery(writer: Writer, claim: Claim, dueAt: number, error: string): Work<boolean> {
  return postpone(writer, claim, { dueAt, error, uncounted: 1 });
}

/** It stays the first to its recipient. */
function* postpone(
  writer: Writer,
  { id, token }: Claim,
  { dueAt, error, uncounted }: { dueAt: number; error: string; uncounted: 0 | 1 },
): Work<boolean> {
  writer.announce("delivery");
  const values = [id, token, Math.ceil(dueAt) + writer.clockOffsetMs, error, uncounted];
  const row = yield* writer.get(POSTPONE, values);
  // The earlier attempt has postponed it.
  if (!row) return writer.isRepeated && (yield* writer.get(WAS_POSTPONED, [id, token])) !== undefined;
  addFailedAttempt(writer, "deliveries", id, { at: Date.now(), error });
  yield* writer.report([toDeliveryReport(row, "pending")]);
  return true;
}

const POSTPONE = `
  UPDATE hookline.deliveries SET state = 'pending', not_before = $3, error = $4, attempts = attempts - $5
  WHERE id = $1 AND claims = $2 AND state = 'sending' RETURNING id, run_id, event_id`;

const WAS_POSTPONED = "SELECT 1 FROM hookline.deliveries WHERE id = $1 AND claims = $2 AND state = 'pending'";
