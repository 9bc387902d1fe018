import type { ChannelName } from "../../types.ts";
import type { Claim, ClaimedDelivery, DeliveryEnd, DeliveryProgress, NewDelivery, Route } from "../journal.ts";
import { reportDeadLetter, reportDelivery, type Transaction } from "./group-commit.ts";
import type { Database } from "./database.ts";
import { integer, optional, type Row, text, toDelivery } from "../rows.ts";
import { updateDeliveryCounts } from "./counters.ts";

/*
 * Deliveries to one recipient are sent one after another: the oldest unfinished one is pending or being sent, the others
 * are queued, so that a claim never looks at them.
 */

/** The caller adds them to the counts of their event. */
export function insertDeliveries(transaction: Transaction, deliveries: NewDelivery[], now: number): void {
  for (const delivery of deliveries) {
    const { id, runId, eventId, channel, to, conversation, update } = delivery;
    const edits = update ? 1 : undefined;
    transaction.run(INSERT_DELIVERY, id, runId, eventId, channel, to, now, delivery.text, conversation, edits);
    transaction.counters.add({ deliveries: 1 });
    transaction.announce("delivery");
    reportDelivery(transaction, { id, run_id: runId, event_id: eventId ?? null }, "pending");
  }
}

export function claimDeliveries(transaction: Transaction, limit: number, now: number): ClaimedDelivery[] {
  // Without the hint SQLite uses the index of states and sorts the whole backlog.
  const due = transaction.all(
    `SELECT seq FROM deliveries INDEXED BY deliveries_due WHERE state = 'pending' AND due_at <= ?
     ORDER BY due_at, seq LIMIT +?`,
    now,
    limit,
  );
  return due.map(({ seq }) => {
    transaction.run(CLAIM_DELIVERY, transaction.node, integer(seq));
    const row = transaction.get("SELECT * FROM deliveries WHERE seq = ?", integer(seq)) ?? {};
    reportDelivery(transaction, row, "sending");
    const replaces = row.edits === 1 ? findReplaced(transaction, row) : undefined;
    return { ...toDelivery(row), token: integer(row.claims), replaces };
  });
}

/** What the conversation sent to the same recipient last. */
function findReplaced(database: Database, { conversation = null, channel = null, recipient = null }: Row) {
  const row = database.get(
    `SELECT message_id FROM deliveries WHERE conversation = ? AND channel = ? AND recipient IS ?
       AND message_id IS NOT NULL AND state = 'sent' ORDER BY created_at DESC, seq DESC LIMIT 1`,
    text(conversation),
    text(channel),
    optional(text, recipient),
  );
  return row && text(row.message_id);
}

export function countReplies(database: Database, conversation: string, since: number): number {
  const row = database.get(
    "SELECT count(*) AS replies FROM deliveries WHERE conversation = ? AND created_at >= ?",
    conversation,
    since,
  );
  return integer(row?.replies ?? 0);
}

export function progressDelivery(
  transaction: Transaction,
  { id, token }: Claim,
  { partsSent, route, messageId }: DeliveryProgress,
): boolean {
  const isClaimed =
    transaction.run(PROGRESS_DELIVERY, partsSent, route && JSON.stringify(route), messageId, id, token) > 0;
  if (isClaimed) rememberMessage(transaction, messageId, Date.now());
  return isClaimed;
}

/** It stays the first to its recipient. */
export function retryDelivery(transaction: Transaction, { id, token }: Claim, dueAt: number, error: string): boolean {
  transaction.announce("delivery");
  const row = transaction.get(RETRY_DELIVERY, Math.ceil(dueAt), error, id, token);
  if (row) reportDelivery(transaction, row, "pending");
  return row !== undefined;
}

export function finishDelivery(transaction: Transaction, { id, token }: Claim, end: DeliveryEnd): boolean {
  const { state, at, route, error, partsSent, messageId } = end;
  const routeText = route && JSON.stringify(route);
  const row = transaction.get(FIND_CLAIMED, id, token);
  if (!row) return false;
  transaction.run(FINISH_DELIVERY, state, at, routeText, error, partsSent, messageId, integer(row.seq));
  if (end.state === "sent") {
    if (row.conversation === null) rememberRoute(transaction, end.route);
    rememberMessage(transaction, end.messageId, at);
  }
  const promoted = transaction.run(PROMOTE_NEXT, text(row.channel), optional(text, row.recipient));
  if (promoted > 0) transaction.announce("delivery");
  transaction.counters.add({ deliveries: -1 });
  updateDeliveryCounts(transaction, toOrigin(row), { open: -1, lost: state === "failed" ? 1 : 0 });
  reportDelivery(transaction, row, state);
  if (state === "failed") reportDeadLetter(transaction, row, true);
  return true;
}

export function wasSent(database: Database, messageId: string, since: number): boolean | undefined {
  if (database.get("SELECT 1 FROM sent_messages WHERE id = ? AND sent_at >= ?", messageId, since)) return true;
  return database.get("SELECT 1 FROM deliveries WHERE state = 'sending' LIMIT 1") ? undefined : false;
}

export function lastRoute(database: Database, channel?: ChannelName): Route | undefined {
  const row = channel
    ? database.get("SELECT channel, recipient FROM routes WHERE channel = ?", channel)
    : database.get("SELECT channel, recipient FROM routes ORDER BY seq DESC LIMIT 1");
  return row && toRoute(row);
}

function rememberMessage({ run }: Transaction, messageId: string | undefined, at: number): void {
  if (messageId !== undefined) run("INSERT OR REPLACE INTO sent_messages (id, sent_at) VALUES (?, ?)", messageId, at);
}

/** Replacing creates a new row, so that the highest `seq` is the route used last. */
function rememberRoute({ run }: Transaction, route: Route): void {
  run("INSERT OR REPLACE INTO routes (channel, recipient) VALUES (?, ?)", route.channel, route.to);
}

const INSERT_DELIVERY = `
  INSERT OR FAIL INTO deliveries (id, run_id, event_id, channel, recipient, state, attempts, created_at, due_at, parts_sent, text, conversation, edits)
  VALUES (?1, ?2, ?3, ?4, ?5,
    iif(EXISTS (SELECT 1 FROM deliveries WHERE channel = ?4 AND recipient IS ?5 AND finished_at IS NULL),
      'queued', 'pending'), 0, ?6, ?6, 0, ?7, ?8, ?9)`;

const CLAIM_DELIVERY = `
  UPDATE OR FAIL deliveries SET state = 'sending', attempts = attempts + 1, claims = claims + 1, node = ?
  WHERE seq = ?`;

const SET_MESSAGE = "message_id = iif(conversation IS NULL, NULL, coalesce(message_id, ?))";

const PROGRESS_DELIVERY = `
  UPDATE OR FAIL deliveries SET parts_sent = ?, route = coalesce(?, route), ${SET_MESSAGE} WHERE id = ? AND claims = ? AND state = 'sending'`;

const RETRY_DELIVERY = `
  UPDATE OR FAIL deliveries SET state = 'pending', due_at = ?, error = ? WHERE id = ? AND claims = ? AND state = 'sending'
  RETURNING id, run_id, event_id`;

const FIND_CLAIMED = `
  SELECT seq, id, event_id, run_id, channel, recipient, conversation FROM deliveries
  WHERE id = ? AND claims = ? AND state = 'sending'`;

const FINISH_DELIVERY = `
  UPDATE OR FAIL deliveries SET state = ?, finished_at = ?, route = coalesce(?, route), error = ?,
    parts_sent = coalesce(?, parts_sent), ${SET_MESSAGE} WHERE seq = ?`;

const PROMOTE_NEXT = `
  UPDATE OR FAIL deliveries SET state = 'pending' WHERE seq =
    (SELECT seq FROM deliveries WHERE channel = ? AND recipient IS ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`;

/** What a delivery belongs to. */
export function toOrigin(row: Row): { runId: string; eventId: string | undefined } {
  return { runId: text(row.run_id), eventId: optional(text, row.event_id) };
}

function toRoute(row: Row): Route {
  return { channel: text(row.channel), to: text(row.recipient) };
}
