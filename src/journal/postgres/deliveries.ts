import type { ChannelName, DeliveryState } from "../../types.ts";
import type {
  Claim,
  ClaimedDelivery,
  Delivery,
  DeliveryEnd,
  DeliveryProgress,
  NewDelivery,
  Route,
} from "../journal.ts";
import { integer, optional, type Row, text, toDelivery } from "../rows.ts";
import type { Sql, TransactionSql } from "./database.ts";
import { updateEventCounts } from "./counters.ts";
import {
  type Batch,
  lock,
  recipientLock,
  type Report,
  reportAll,
  toPostgresText,
  type Transaction,
} from "./transaction.ts";

/*
 * Deliveries to one recipient are sent one after another: the oldest unfinished one is pending or being sent, the others
 * are queued, so that a claim never looks at them. A transaction that adds or ends one holds the recipient's lock.
 */

export function addDeliveries(
  batch: Batch,
  added: { delivery: NewDelivery; at: number }[],
  ahead: number,
  condition = "true",
): void {
  const rows = added.map(({ delivery, at }, ord) => ({
    ord,
    id: delivery.id,
    run_id: delivery.runId,
    event_id: delivery.eventId,
    channel: delivery.channel,
    recipient: delivery.to,
    created_at: at,
    due_at: at + ahead,
    text: delivery.text,
    conversation: delivery.conversation,
    edits: Number(delivery.update ?? false),
  }));
  // With LIMIT and `=`, each row is one look into the index.
  batch.add(
    "new_deliveries",
    rows,
    `INSERT INTO hookline.deliveries (id, run_id, event_id, channel, recipient, state, attempts, created_at, due_at,
       parts_sent, text, conversation, edits)
     SELECT id, run_id, event_id, channel, recipient,
       CASE WHEN row_number() OVER (PARTITION BY channel, recipient ORDER BY ord) = 1 AND CASE WHEN row.recipient IS NULL
         THEN (SELECT 1 FROM hookline.deliveries AS other WHERE other.channel = row.channel
           AND other.recipient IS NULL AND other.finished_at IS NULL LIMIT 1)
         ELSE (SELECT 1 FROM hookline.deliveries AS other WHERE other.channel = row.channel
           AND other.recipient = row.recipient AND other.finished_at IS NULL LIMIT 1)
         END IS NULL THEN 'pending' ELSE 'queued' END,
       0, created_at, due_at, 0, text, conversation, edits
     FROM json_to_recordset($rows) AS row (ord integer, id uuid, run_id uuid, event_id uuid, channel text,
       recipient text, created_at bigint, due_at bigint, text text, conversation text, edits integer)
     WHERE ${condition} ORDER BY ord`,
  );
}

export async function claimDeliveries(
  transaction: Transaction,
  limit: number,
  now: number,
): Promise<ClaimedDelivery[]> {
  const { withBegin, ahead, node } = transaction;
  const token = transaction.createToken();
  const rows = await withBegin.all(CLAIM_DELIVERIES, [limit, now + ahead, token, node]);
  const sorted = rows.toSorted((a, b) => integer(a.due_at) - integer(b.due_at) || integer(a.seq) - integer(b.seq));
  await reportAll(
    transaction,
    sorted.map((row) => reportOf(row, "sending")),
  );
  return Promise.all(
    sorted.map(async (row) => {
      const replaces = row.edits === 1 ? await findReplaced(transaction, row) : undefined;
      return { ...toDeliveryHere(row, ahead), token, replaces };
    }),
  );
}

/** What the conversation sent to the same recipient last. */
async function findReplaced({ get }: Sql, { conversation = null, channel = null, recipient = null }: Row) {
  const row = await get(
    `SELECT message_id FROM hookline.deliveries WHERE conversation = $1 AND channel = $2
       AND recipient IS NOT DISTINCT FROM $3 AND message_id IS NOT NULL AND state = 'sent'
     ORDER BY created_at DESC, seq DESC LIMIT 1`,
    [text(conversation), text(channel), optional(text, recipient)],
  );
  return row && text(row.message_id);
}

export async function countReplies({ get }: Sql, conversation: string, since: number): Promise<number> {
  const row = await get(
    "SELECT count(*)::integer AS replies FROM hookline.deliveries WHERE conversation = $1 AND created_at >= $2",
    [toPostgresText(conversation), since],
  );
  return integer(row?.replies ?? 0);
}

const CLAIM_DELIVERIES = `
  UPDATE hookline.deliveries SET state = 'sending', attempts = attempts + 1, claims = $3, node = $4
  WHERE id = ANY(ARRAY(SELECT id FROM hookline.deliveries WHERE state = 'pending' AND due_at <= $2
    ORDER BY due_at, seq LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING *`;

export async function progressDelivery(
  transaction: Transaction,
  { id, token }: Claim,
  { partsSent, route, messageId }: DeliveryProgress,
): Promise<boolean> {
  const values = [id, token, partsSent, route && JSON.stringify(route), messageId && toPostgresText(messageId)];
  const isClaimed = (await transaction.run(PROGRESS_DELIVERY, values)) > 0;
  if (isClaimed) rememberMessage(transaction, messageId, Date.now());
  return isClaimed;
}

const PROGRESS_DELIVERY = `
  UPDATE hookline.deliveries SET parts_sent = $3, route = coalesce($4, route),
    message_id = CASE WHEN conversation IS NOT NULL THEN coalesce(message_id, $5) END
  WHERE id = $1 AND claims = $2 AND state = 'sending'`;

/** It stays the first to its recipient. */
export async function retryDelivery(
  transaction: Transaction,
  { id, token }: Claim,
  dueAt: number,
  error: string,
): Promise<boolean> {
  transaction.announce("delivery");
  const values = [id, token, Math.ceil(dueAt) + transaction.ahead, toPostgresText(error)];
  const row = await transaction.get(RETRY_DELIVERY, values);
  if (row) {
    await reportAll(transaction, [reportOf(row, "pending")]);
    return true;
  }
  return transaction.isRepeated && (await hasState(transaction, { id, token }, "pending"));
}

const RETRY_DELIVERY = `
  UPDATE hookline.deliveries SET state = 'pending', due_at = $3, error = $4
  WHERE id = $1 AND claims = $2 AND state = 'sending' RETURNING id, run_id, event_id`;

export async function finishDelivery(transaction: Transaction, claim: Claim, end: DeliveryEnd): Promise<boolean> {
  const { state, at, route, error, partsSent, messageId } = end;
  const { withBegin, withCommit } = transaction;
  const own = await withBegin.get("SELECT channel, recipient FROM hookline.deliveries WHERE id = $1", [claim.id]);
  if (!own) return false;
  const values = [
    claim.id,
    claim.token,
    state,
    at,
    route && JSON.stringify(route),
    error && toPostgresText(error),
    partsSent,
    messageId && toPostgresText(messageId),
  ];
  const [, row] = await Promise.all([lock(transaction, [lockOf(own)]), transaction.get(FINISH_DELIVERY, values)]);
  if (!row) return transaction.isRepeated && hasState(transaction, claim, state);
  if (end.state === "sent") {
    if (row.conversation === null) rememberRoute(transaction, end.route);
    rememberMessage(transaction, end.messageId, at);
  }
  const [channel, recipient] = [text(row.channel), optional(text, row.recipient)];
  withCommit(promoteNext(recipient), recipient === undefined ? [channel] : [channel, recipient], (next) => {
    if (next) transaction.announce("delivery");
  });
  const change = { event_id: optional(text, row.event_id), run_id: text(row.run_id) };
  updateEventCounts(transaction, [{ ...change, open: -1, lost: state === "failed" ? 1 : 0 }]);
  const report = reportOf(row, state);
  const { id, eventId } = report.change;
  const letter: Report = { change: { kind: "dead-letter", id, eventId, isDead: true }, run: report.run };
  await reportAll(transaction, state === "failed" ? [report, letter] : [report]);
  return true;
}

const FINISH_DELIVERY = `
  UPDATE hookline.deliveries SET state = $3, finished_at = $4, route = coalesce($5, route), error = $6,
    parts_sent = coalesce($7, parts_sent),
    message_id = CASE WHEN conversation IS NOT NULL THEN coalesce(message_id, $8) END
  WHERE id = $1 AND claims = $2 AND state = 'sending'
  RETURNING id, event_id, run_id, channel, recipient, conversation`;

/** The index finds `=` and `IS NULL`, but not `IS NOT DISTINCT FROM`. */
const promoteNext = (recipient: string | undefined): string => `
  UPDATE hookline.deliveries SET state = 'pending' WHERE id = (
    SELECT id FROM hookline.deliveries WHERE channel = $1 AND recipient ${recipient === undefined ? "IS NULL" : "= $2"}
      AND finished_at IS NULL ORDER BY seq LIMIT 1) RETURNING 1`;

function reportOf(row: Row, state: DeliveryState) {
  const eventId = optional(text, row.event_id);
  const change = { kind: "delivery", id: text(row.id), eventId, state } as const;
  return { change, run: { id: text(row.run_id), eventId } } satisfies Report;
}

export function lockOf(row: Row): string {
  return recipientLock({ channel: text(row.channel), to: optional(text, row.recipient ?? null) });
}

/** At a repetition: what the earlier attempt recorded under the claim. */
async function hasState({ get }: Sql, { id, token }: Claim, state: string): Promise<boolean> {
  const same = "SELECT 1 FROM hookline.deliveries WHERE id = $1 AND claims = $2 AND state = $3";
  return (await get(same, [id, token, state])) !== undefined;
}

export async function wasSent({ get }: Sql, messageId: string, since: number): Promise<boolean | undefined> {
  const values = [toPostgresText(messageId), since];
  if (await get("SELECT 1 FROM hookline.sent_messages WHERE id = $1 AND sent_at >= $2", values)) return true;
  return (await get("SELECT 1 FROM hookline.deliveries WHERE state = 'sending' LIMIT 1")) ? undefined : false;
}

export async function lastRoute({ get }: Sql, channel?: ChannelName): Promise<Route | undefined> {
  const row = await get(
    `SELECT channel, recipient FROM hookline.routes WHERE $1::text IS NULL OR channel = $1 ORDER BY seq DESC LIMIT 1`,
    [channel],
  );
  return row && { channel: text(row.channel), to: text(row.recipient) };
}

function rememberMessage({ withCommit }: TransactionSql, messageId: string | undefined, at: number): void {
  if (messageId === undefined) return;
  withCommit(
    `INSERT INTO hookline.sent_messages (id, sent_at) VALUES ($1, $2)
     ON CONFLICT (id) DO UPDATE SET sent_at = excluded.sent_at`,
    [toPostgresText(messageId), at],
  );
}

/** The highest `seq` is the route used last. */
function rememberRoute({ withCommit }: TransactionSql, { channel, to }: Route): void {
  withCommit(
    `INSERT INTO hookline.routes (channel, recipient) VALUES ($1, $2)
     ON CONFLICT (channel) DO UPDATE SET recipient = excluded.recipient, seq = DEFAULT`,
    [channel, toPostgresText(to)],
  );
}

/** With its times by the clock of this process. */
export function toDeliveryHere(row: Row, ahead: number): Delivery {
  const delivery = toDelivery(row);
  return { ...delivery, dueAt: delivery.dueAt - ahead };
}
