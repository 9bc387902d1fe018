import type { Claim, ClaimedDelivery, DeliveryEnd, NewDelivery, Route } from "../../core/journal/journal.ts";
import { toErrorGroup } from "../../core/journal/error-group.ts";
import { report, type Transaction } from "./group-commit.ts";
import type { Database } from "./database.ts";
import { integer, optional, type Row, text } from "../../core/journal/columns.ts";
import {
  EDITS,
  mayReplace,
  toEditsColumn,
  readInterruptions,
  toDelivery,
  toWarningsColumn,
} from "../../core/journal/rows.ts";
import { PENDING } from "../../core/journal/conditions.ts";
import { MAX_CORRECTION_MS, MAX_RETRY_MS } from "../../core/journal/waits.ts";
import { rememberMessage } from "../../core/journal/writes/delivery-states.ts";
import { addFailedAttempt } from "../../core/journal/writes/failed-attempts.ts";
import { toDeliveryReport } from "../../core/journal/writes/writer.ts";
import { takeOldest, statementsOf } from "./read.ts";
import { TRIED } from "./schema.ts";
import { updateCountsOf } from "./counters.ts";

/*
 * Deliveries to one recipient are sent one after another: the oldest unfinished one is pending or being sent, the others
 * are queued, so that a claim never looks at them.
 */

/** The caller adds them to the counts of their event. */
export function insertDeliveries(transaction: Transaction, deliveries: NewDelivery[], now: number): void {
  for (const delivery of deliveries) {
    const { id, runId, eventId, channel, to, routeBy, conversation, addressee, ends } = delivery;
    const edits = toEditsColumn(delivery) || undefined;
    const place = [id, runId, eventId, channel, to, now] as const;
    transaction.run(INSERT_DELIVERY, ...place, delivery.text, conversation, addressee, edits, routeBy, ends);
    transaction.counters.add({ deliveries: 1 });
    transaction.announce("delivery");
    report(transaction, { kind: "delivery", id, eventId, state: "pending", runId });
  }
}

export function claimDeliveries(transaction: Transaction, limit: number, now: number): ClaimedDelivery[] {
  return listDue(transaction, limit, now).map(({ seq }) => startDelivery(transaction, integer(seq), now));
}

export function startDelivery(transaction: Transaction, seq: number, now: number): ClaimedDelivery {
  transaction.run(CLAIM_DELIVERY, now, seq);
  const row = transaction.get("SELECT * FROM deliveries WHERE seq = ?", seq) ?? {};
  report(transaction, toDeliveryReport(row, "sending"));
  const replaces = mayReplace(row) ? findReplaced(transaction, row) : undefined;
  return { ...toDelivery(row), ...readInterruptions(row), token: integer(row.claims), replaces };
}

/** In the order of arrival: those that need not wait, and as many of those whose wait is over. */
function listDue(database: Database, limit: number, now: number): Row[] {
  const due = [
    ...database.all(DUE_AT_ONCE, limit),
    ...database.all(DUE_AGAIN, now, limit),
    ...database.all(TOO_LONG, now + MAX_RETRY_MS, limit),
    ...database.all(TRIED_LATER, now + MAX_CORRECTION_MS, limit),
  ];
  return takeOldest(due, limit);
}

// Without the hints SQLite uses the index of states and sorts the whole backlog.
const DUE_AT_ONCE = `
  SELECT seq, due_at FROM deliveries INDEXED BY deliveries_due
  WHERE ${PENDING} AND not_before IS NULL ORDER BY due_at, seq LIMIT +?`;
const DUE_AGAIN = `
  SELECT seq, due_at FROM deliveries INDEXED BY deliveries_later
  WHERE ${PENDING} AND not_before <= ? ORDER BY not_before LIMIT +?`;
const TOO_LONG = `
  SELECT seq, due_at FROM deliveries INDEXED BY deliveries_later
  WHERE ${PENDING} AND not_before > ? LIMIT +?`;
const TRIED_LATER = `
  SELECT seq, due_at FROM deliveries INDEXED BY deliveries_tried
  WHERE ${PENDING} AND not_before IS NOT NULL AND ${TRIED} > ? LIMIT +?`;

/** The notice of its own run, else what the conversation sent to the same recipient last. */
function findReplaced(database: Database, row: Row) {
  const { conversation = null, channel = null, recipient = null, run_id: runId = null, edits = null } = row;
  const found = database.get(
    FIND_REPLACED,
    text(conversation),
    text(channel),
    optional(text, recipient),
    text(runId),
    integer(edits),
  );
  return found && text(found.message_id).split("\n");
}

// Without the hint SQLite reads everything that was sent.
const FIND_REPLACED = `
  SELECT message_id FROM deliveries INDEXED BY deliveries_conversation
  WHERE conversation = ?1 AND channel = ?2 AND recipient IS ?3
    AND message_id IS NOT NULL AND state = 'sent' AND (?5 = 1 OR (run_id = ?4 AND edits = ${EDITS.isNotice}))
  ORDER BY (run_id = ?4 AND edits IS ${EDITS.isNotice}) DESC, created_at DESC, seq DESC LIMIT 1`;

export function finishDelivery(transaction: Transaction, { id, token }: Claim, end: DeliveryEnd): boolean {
  const { state, at, route, error, partsSent, messageId, warnings } = end;
  const routeText = route && JSON.stringify(route);
  const row = transaction.get(FIND_CLAIMED, id, token);
  if (!row) return false;
  const noted = toWarningsColumn(warnings);
  const group = state === "failed" && error !== undefined ? toErrorGroup(error) : undefined;
  transaction.run(FINISH_DELIVERY, state, at, routeText, error, group, noted, partsSent, messageId, integer(row.seq));
  if (end.state === "sent") {
    rememberRoute(transaction, end.route, optional(text, row.route_by));
    rememberMessage(statementsOf(transaction), { id, route: end.route, messageId, at });
  }
  const promoted = transaction.run(PROMOTE_NEXT, text(row.channel), optional(text, row.recipient));
  if (promoted > 0) transaction.announce("delivery");
  transaction.counters.add({ deliveries: -1 });
  const delivery = toDeliveryReport(row, state);
  updateCountsOf(transaction, delivery, { open: -1, dead: state === "failed" ? 1 : 0 });
  report(transaction, delivery);
  if (end.state === "failed") {
    addFailedAttempt(statementsOf(transaction), "deliveries", id, { at, error: end.error });
    const { eventId, runId } = delivery;
    report(transaction, { kind: "dead-letter", id, eventId, isDead: true, runId });
  }
  return true;
}

/** Replacing creates a new row, so that the highest `seq` is the route used last. */
function rememberRoute({ run }: Transaction, { channel, to }: Route, routeBy: string | undefined): void {
  if (routeBy === undefined) return;
  run("INSERT OR REPLACE INTO routes (channel, recipient, chosen_by) VALUES (?, ?, ?)", channel, to, routeBy);
}

const INSERT_DELIVERY = `
  INSERT OR FAIL INTO deliveries (id, run_id, event_id, channel, recipient, state, attempts, created_at, due_at, parts_sent, text, conversation, addressee, edits, route_by, ends)
  VALUES (?1, ?2, ?3, ?4, ?5,
    iif(EXISTS (SELECT 1 FROM deliveries WHERE channel = ?4 AND recipient IS ?5 AND finished_at IS NULL),
      'queued', 'pending'), 0, ?6, ?6, 0, ?7, ?8, ?9, ?10, ?11, ?12)`;

const CLAIM_DELIVERY = `
  UPDATE OR FAIL deliveries SET state = 'sending', not_before = NULL, attempts = attempts + 1, claims = claims + 1,
    started_at = ? WHERE seq = ?`;

const FIND_CLAIMED = `
  SELECT seq, id, event_id, run_id, channel, recipient, route_by FROM deliveries
  WHERE id = ? AND claims = ? AND state = 'sending'`;

const FINISH_DELIVERY = `
  UPDATE OR FAIL deliveries SET state = ?, finished_at = ?, route = coalesce(?, route), error = ?,
    error_group = ?, warnings = ?, parts_sent = coalesce(?, parts_sent),
    message_id = iif(conversation IS NULL AND edits IS NOT ${EDITS.isQuestion}, NULL, nullif(concat_ws(char(10), message_id, ?), ''))
  WHERE seq = ?`;

const PROMOTE_NEXT = `
  UPDATE OR FAIL deliveries SET state = 'pending' WHERE seq =
    (SELECT seq FROM deliveries WHERE channel = ? AND recipient IS ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`;
