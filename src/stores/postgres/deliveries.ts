import { toErrorGroup } from "../../core/journal/error-group.ts";
import type { Claim, ClaimedDelivery, DeliveryEnd, NewDelivery, Route } from "../../core/journal/journal.ts";
import { integer, optional, type Row, text } from "../../core/journal/columns.ts";
import {
  byArrival,
  EDITS,
  mayReplace,
  toEditsColumn,
  readInterruptions,
  toDelivery,
  toWarningsColumn,
} from "../../core/journal/rows.ts";
import type { Sql, TransactionSql } from "./database.ts";
import { PENDING } from "../../core/journal/conditions.ts";
import { MAX_CORRECTION_MS, MAX_RETRY_MS } from "../../core/journal/waits.ts";
import { updateEventCounts } from "./counters.ts";
import { rememberMessage } from "../../core/journal/writes/delivery-states.ts";
import { addFailedAttempt } from "../../core/journal/writes/failed-attempts.ts";
import { type ChangeReport, recipientLockOf, toDeliveryReport } from "../../core/journal/writes/writer.ts";
import { type Batch, lock, reportAll, type Transaction } from "./transaction.ts";

/*
 * Deliveries to one recipient are sent one after another: the oldest unfinished one is pending or being sent, the others
 * are queued, so that a claim never looks at them. A transaction that adds or ends one holds the recipient's lock.
 */

export function addDeliveries(
  batch: Batch,
  added: { delivery: NewDelivery; at: number }[],
  clockOffsetMs: number,
  condition = "true",
): void {
  const rows = added.map(({ delivery, at }, ord) => ({
    ord,
    id: delivery.id,
    run_id: delivery.runId,
    event_id: delivery.eventId,
    channel: delivery.channel,
    recipient: delivery.to,
    route_by: delivery.routeBy,
    created_at: at,
    due_at: at + clockOffsetMs,
    text: delivery.text,
    conversation: delivery.conversation,
    addressee: delivery.addressee,
    edits: toEditsColumn(delivery),
    ends: delivery.ends,
  }));
  // With LIMIT and `=`, each row is one look into the index.
  batch.add(
    "new_deliveries",
    rows,
    `INSERT INTO hookline.deliveries (id, run_id, event_id, channel, recipient, state, attempts, created_at, due_at,
       parts_sent, text, conversation, addressee, edits, route_by, ends)
     SELECT id, run_id, event_id, channel, recipient,
       CASE WHEN row_number() OVER (PARTITION BY channel, recipient ORDER BY ord) = 1 AND CASE WHEN row.recipient IS NULL
         THEN (SELECT 1 FROM hookline.deliveries AS other WHERE other.channel = row.channel
           AND other.recipient IS NULL AND other.finished_at IS NULL LIMIT 1)
         ELSE (SELECT 1 FROM hookline.deliveries AS other WHERE other.channel = row.channel
           AND other.recipient = row.recipient AND other.finished_at IS NULL LIMIT 1)
         END IS NULL THEN 'pending' ELSE 'queued' END,
       0, created_at, due_at, 0, text, conversation, addressee, edits, route_by, ends
     FROM json_to_recordset($rows) AS row (ord integer, id uuid, run_id uuid, event_id uuid, channel text,
       recipient text, created_at bigint, due_at bigint, text text, conversation text, addressee text,
       edits integer, route_by text, ends uuid)
     WHERE ${condition} ORDER BY ord`,
  );
}

export async function claimDeliveries(
  transaction: Transaction,
  limit: number,
  now: number,
): Promise<ClaimedDelivery[]> {
  const { withBegin, clockOffsetMs, node } = transaction;
  const token = transaction.createToken();
  const rows = await withBegin.all(CLAIM_DELIVERIES, [limit, now + clockOffsetMs, token, node, now]);
  return toClaimedDeliveries(transaction, rows.toSorted(byArrival), token);
}

export async function toClaimedDeliveries(
  transaction: Transaction,
  rows: Row[],
  token: number,
): Promise<ClaimedDelivery[]> {
  const { clockOffsetMs } = transaction;
  await reportAll(
    transaction,
    rows.map((row) => toDeliveryReport(row, "sending")),
  );
  return Promise.all(
    rows.map(async (row) => {
      const replaces = mayReplace(row) ? await findReplaced(transaction, row) : undefined;
      return { ...toDelivery(row, clockOffsetMs), ...readInterruptions(row, clockOffsetMs), token, replaces };
    }),
  );
}

/** The notice of its own run, else what the conversation sent to the same recipient last. */
async function findReplaced({ get }: Sql, row: Row) {
  const { conversation = null, channel = null, recipient = null, run_id: runId = null, edits = null } = row;
  const found = await get(
    `SELECT message_id FROM hookline.deliveries WHERE conversation = $1 AND channel = $2
       AND recipient IS NOT DISTINCT FROM $3 AND message_id IS NOT NULL AND state = 'sent'
       AND ($5::integer = 1 OR (run_id = $4 AND edits = ${EDITS.isNotice}))
     ORDER BY (run_id = $4 AND edits = ${EDITS.isNotice}) DESC, created_at DESC, seq DESC LIMIT 1`,
    [text(conversation), text(channel), optional(text, recipient), text(runId), integer(edits)],
  );
  return found && text(found.message_id).split("\n");
}

/** In the order of arrival: those that need not wait, and as many of those whose wait is over. */
const dueOf = (condition: string, order: string): string => `
  SELECT * FROM (SELECT id, seq, due_at FROM hookline.deliveries WHERE ${PENDING} AND ${condition}
    ORDER BY ${order} LIMIT $1 FOR UPDATE SKIP LOCKED) AS due`;

const CLAIM_DELIVERIES = `
  UPDATE hookline.deliveries SET state = 'sending', not_before = NULL, attempts = attempts + 1, claims = $3, node = $4, started_at = $5
  WHERE id = ANY(ARRAY(SELECT id FROM (
      ${dueOf("not_before IS NULL", "due_at, seq")}
      UNION ALL ${dueOf("not_before <= $2", "not_before")}
      UNION ALL ${dueOf(`not_before > $2 + ${MAX_RETRY_MS}`, "not_before")}
      UNION ALL ${dueOf(`due_at > $2 + ${MAX_CORRECTION_MS} AND not_before > $2 AND not_before <= $2 + ${MAX_RETRY_MS}`, "due_at")}) AS due
    ORDER BY due_at, seq LIMIT $1)) RETURNING *`;

export async function finishDelivery(transaction: Transaction, claim: Claim, end: DeliveryEnd): Promise<boolean> {
  const { state, at, route, error, partsSent, messageId, warnings } = end;
  const { withBegin, withCommit } = transaction;
  const own = await withBegin.get("SELECT channel, recipient FROM hookline.deliveries WHERE id = $1", [claim.id]);
  if (!own) return false;
  const values = [
    claim.id,
    claim.token,
    state,
    at,
    route && JSON.stringify(route),
    error,
    partsSent,
    messageId,
    toWarningsColumn(warnings),
    state === "failed" && error !== undefined ? toErrorGroup(error) : undefined,
  ];
  const [, row] = await Promise.all([
    lock(transaction, [recipientLockOf(own)]),
    transaction.get(FINISH_DELIVERY, values),
  ]);
  if (!row) return transaction.isRepeated && hasState(transaction, claim, state);
  if (end.state === "sent") {
    rememberRoute(transaction, end.route, optional(text, row.route_by));
    rememberMessage(transaction, { id: claim.id, route: end.route, messageId, at });
  }
  if (end.state === "failed") addFailedAttempt(transaction, "deliveries", claim.id, { at, error: end.error });
  const [channel, recipient] = [text(row.channel), optional(text, row.recipient)];
  withCommit(promoteNext(recipient), recipient === undefined ? [channel] : [channel, recipient], (next) => {
    if (next) transaction.announce("delivery");
  });
  const change = { event_id: optional(text, row.event_id), run_id: text(row.run_id) };
  updateEventCounts(transaction, [{ ...change, open: -1, dead: state === "failed" ? 1 : 0 }]);
  const report = toDeliveryReport(row, state);
  const { id, eventId, runId } = report;
  const letter: ChangeReport = { kind: "dead-letter", id, eventId, isDead: true, runId };
  await reportAll(transaction, state === "failed" ? [report, letter] : [report]);
  return true;
}

const FINISH_DELIVERY = `
  UPDATE hookline.deliveries SET state = $3, finished_at = $4, route = coalesce($5, route), error = $6, warnings = $9, error_group = $10,
    parts_sent = coalesce($7, parts_sent),
    message_id = CASE WHEN conversation IS NOT NULL OR edits = ${EDITS.isQuestion} THEN nullif(concat_ws(chr(10), message_id, $8::text), '') END
  WHERE id = $1 AND claims = $2 AND state = 'sending'
  RETURNING id, event_id, run_id, channel, recipient, route_by`;

/** The index finds `=` and `IS NULL`, but not `IS NOT DISTINCT FROM`. */
const promoteNext = (recipient: string | undefined): string => `
  UPDATE hookline.deliveries SET state = 'pending' WHERE id = (
    SELECT id FROM hookline.deliveries WHERE channel = $1 AND recipient ${recipient === undefined ? "IS NULL" : "= $2"}
      AND finished_at IS NULL ORDER BY seq LIMIT 1) RETURNING 1`;

export function reportsOfDeliveries(deliveries: NewDelivery[]): ChangeReport[] {
  return deliveries.map(({ id, runId, eventId }) => ({ kind: "delivery", id, eventId, state: "pending", runId }));
}

/** At a repetition: what the earlier attempt recorded under the claim. */
async function hasState({ get }: Sql, { id, token }: Claim, state: string): Promise<boolean> {
  const same = "SELECT 1 FROM hookline.deliveries WHERE id = $1 AND claims = $2 AND state = $3";
  return (await get(same, [id, token, state])) !== undefined;
}

/** The highest `seq` is the route used last. */
function rememberRoute({ withCommit }: TransactionSql, { channel, to }: Route, routeBy: string | undefined): void {
  if (routeBy === undefined) return;
  withCommit(
    `INSERT INTO hookline.routes (channel, recipient, chosen_by) VALUES ($1, $2, $3)
     ON CONFLICT (channel, chosen_by) DO UPDATE SET recipient = excluded.recipient, seq = DEFAULT`,
    [channel, to, routeBy],
  );
}
