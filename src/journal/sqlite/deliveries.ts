import type { ChannelName } from "../../types.ts";
import type { Delivery, DeliveryEnd, NewDelivery, Route } from "../journal.ts";
import { type Database, optional, type SqlRow, text } from "./database.ts";
import { bookEvent } from "./event-states.ts";
import { toDelivery, toRoute } from "./rows.ts";

/*
 * Deliveries to one recipient go out one after another: the oldest unfinished one is pending or being sent, the others
 * are queued, so that a claim never looks at them.
 */

export function insertDeliveries(database: Database, deliveries: NewDelivery[], now: number): void {
  for (const delivery of deliveries) insertDelivery(database, delivery, now);
}

/** The journal's `claimDeliveries`. */
export function claimDeliveries(database: Database, limit: number, now: number): Delivery[] {
  // Left to itself SQLite takes the index of states, and sorts the whole backlog.
  const due = database.all(
    `SELECT * FROM deliveries INDEXED BY deliveries_due WHERE state = 'pending' AND due_at <= ?
     ORDER BY due_at, seq LIMIT ?`,
    now,
    limit,
  );
  return due.map((row) => {
    const delivery = toDelivery(row);
    database.run("UPDATE deliveries SET state = 'sending', attempts = attempts + 1 WHERE id = ?", delivery.id);
    return { ...delivery, state: "sending", attempts: delivery.attempts + 1 };
  });
}

/** The journal's `progressDelivery`. */
export function progressDelivery(database: Database, id: string, partsSent: number, route?: Route): void {
  database.run(
    "UPDATE deliveries SET parts_sent = ?, route = coalesce(?, route) WHERE id = ? AND state = 'sending'",
    partsSent,
    route && JSON.stringify(route),
    id,
  );
}

/** The journal's `retryDelivery`. It stays the first to its recipient. */
export function retryDelivery(database: Database, id: string, dueAt: number, error: string): void {
  database.run(
    "UPDATE deliveries SET state = 'pending', due_at = ?, error = ? WHERE id = ? AND state = 'sending'",
    Math.ceil(dueAt),
    error,
    id,
  );
}

/** The journal's `finishDelivery`. Nothing where it is not being sent. */
export function finishDelivery(database: Database, id: string, end: DeliveryEnd): void {
  const row = database.get(
    `UPDATE deliveries SET state = ?, finished_at = ?, route = coalesce(?, route), error = ?, parts_sent = coalesce(?, parts_sent)
     WHERE id = ? AND state = 'sending' RETURNING event_id, run_id, channel, recipient`,
    end.state,
    end.at,
    "route" in end && end.route ? JSON.stringify(end.route) : undefined,
    end.state === "sent" ? undefined : end.error,
    end.state === "sent" ? end.partsSent : undefined,
    id,
  );
  if (!row) return;
  if (end.state === "sent") rememberRoute(database, end.route);
  promoteNext(database, text(row.channel), optional(text, row.recipient));
  bookEvent(database, ownerOf(row), { open: -1, lost: end.state === "failed" ? 1 : 0 });
}

/** Gives a failed delivery its tries anew, behind what is under way to its recipient. False where there is none. */
export function reviveDelivery(database: Database, id: string, now: number): boolean {
  const row = database.get(
    `UPDATE deliveries SET attempts = 0, due_at = ?2, finished_at = NULL, error = NULL,
       state = iif(EXISTS (SELECT 1 FROM deliveries AS other WHERE other.channel = deliveries.channel
         AND other.recipient IS deliveries.recipient AND other.finished_at IS NULL), 'queued', 'pending')
     WHERE id = ?1 AND state = 'failed' RETURNING event_id, run_id`,
    id,
    now,
  );
  if (row) bookEvent(database, ownerOf(row), { open: 1, lost: -1 });
  return row !== undefined;
}

/** Counts a failed delivery as lost no longer. False where there is none. */
export function dropDelivery(database: Database, id: string): boolean {
  const row = database.get(
    "UPDATE deliveries SET state = 'dropped' WHERE id = ? AND state = 'failed' RETURNING event_id, run_id",
    id,
  );
  if (row) bookEvent(database, ownerOf(row), { open: 0, lost: -1 });
  return row !== undefined;
}

/** The journal's `lastRoute`. */
export function lastRoute(database: Database, channel?: ChannelName): Route | undefined {
  const where = channel === undefined ? "" : "WHERE channel = ?";
  const row = database.get(
    `SELECT channel, recipient FROM routes ${where} ORDER BY seq DESC LIMIT 1`,
    ...(channel === undefined ? [] : [channel]),
  );
  return row && toRoute(row);
}

/** Deliveries that a process left behind may be sent again. */
export function releaseDeliveries(database: Database): number {
  return database.run("UPDATE deliveries SET state = 'pending' WHERE state = 'sending'");
}

function insertDelivery(database: Database, delivery: NewDelivery, now: number): void {
  database.run(
    `INSERT INTO deliveries (id, run_id, event_id, channel, recipient, state, attempts, created_at, due_at, parts_sent, text)
     VALUES (?1, ?2, ?3, ?4, ?5,
       iif(EXISTS (SELECT 1 FROM deliveries WHERE channel = ?4 AND recipient IS ?5 AND finished_at IS NULL),
         'queued', 'pending'), 0, ?6, ?6, 0, ?7)`,
    delivery.id,
    delivery.runId,
    delivery.eventId,
    delivery.channel,
    delivery.to,
    now,
    delivery.text,
  );
  bookEvent(database, { eventId: delivery.eventId, runId: delivery.runId }, { open: 1, lost: 0 });
}

/** Replacing makes a new row, so that the highest `seq` is the route used last. */
function rememberRoute(database: Database, route: Route): void {
  database.run("INSERT OR REPLACE INTO routes (channel, recipient) VALUES (?, ?)", route.channel, route.to);
}

function promoteNext(database: Database, channel: string, recipient: string | undefined): void {
  database.run(
    `UPDATE deliveries SET state = 'pending' WHERE seq =
       (SELECT seq FROM deliveries WHERE channel = ? AND recipient IS ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`,
    channel,
    recipient,
  );
}

function ownerOf(row: SqlRow): { eventId: string | undefined; runId: string } {
  return { eventId: optional(text, row.event_id), runId: text(row.run_id) };
}
