import type { Retention } from "../journal.ts";
import { IS_UNFINISHED } from "./accept.ts";
import { sweepSpend } from "./spend.ts";
import { type Database, integer, type SqlRow, text } from "./database.ts";

/** Most rows of a kind, and most bytes of bodies, that one commit deletes: it blocks the event loop. */
const BATCH = 100;
const BATCH_BYTES = 4_000_000;
const KEY_BATCH = 500;
const HOUR_MS = 3_600_000;

/** Most pages that one commit returns to the file system: about a megabyte. */
const BATCH_PAGES = 256;

export function sweep(database: Database, retention: Retention): boolean {
  const deleted =
    sweepKeys(database, retention) +
    sweepEvents(database, retention) +
    sweepHeartbeats(database, retention.keepFrom) +
    sweepSentMessages(database, retention.now) +
    sweepSpend(database, retention.keepFrom, KEY_BATCH);
  return deleted > 0 || freesPages(database);
}

/** While the file is too large, age does not matter. */
function sweepEvents(database: Database, { keepFrom, maxBytes = Infinity }: Retention): number {
  const isTooLarge = usedBytes(database) > maxBytes;
  const oldest = database.all(OLDEST_FINISHED, BATCH);
  const expired = oldest.filter((row) => isTooLarge || integer(row.received_at) < keepFrom);
  const batch = withinBytes(expired);
  for (const row of batch) deleteEvent(database, text(row.id), text(row.actions));
  return batch.length;
}

/** The first events within `BATCH_BYTES`, at least one. */
function withinBytes(events: SqlRow[]): SqlRow[] {
  let bytes = 0;
  return events.filter((row, index) => {
    bytes += integer(row.body_bytes);
    return index === 0 || bytes <= BATCH_BYTES;
  });
}

function deleteEvent(database: Database, id: string, receipts: string): void {
  deleteRuns(database, id, receipts);
  database.run("DELETE FROM deliveries WHERE event_id = ?", id);
  // Pending system events outlive their event.
  database.run("UPDATE entries SET event_id = NULL WHERE event_id = ? AND pending = 1", id);
  deleteEntries(database, "event_id = ?", id);
  database.run("DELETE FROM event_states WHERE seq = (SELECT seq FROM events WHERE id = ?)", id);
  database.run("DELETE FROM events WHERE id = ?", id);
}

/** A receipt can also name a run of an earlier event with the same idempotency key. */
function deleteRuns(database: Database, eventId: string, receipts: string): void {
  const rows = database.all(
    `DELETE FROM runs WHERE id IN (SELECT value ->> 'runId' FROM json_each(?)) AND event_id = ? RETURNING seq`,
    receipts,
    eventId,
  );
  for (const { seq } of rows) database.run("DELETE FROM run_actions WHERE run_seq = ?", integer(seq));
}

/** What belongs to no event: heartbeats with their entries and deliveries, and system events of deleted events. */
function sweepHeartbeats(database: Database, keepFrom: number): number {
  const entries = deleteEntries(
    database,
    `seq IN (SELECT seq FROM entries INDEXED BY entries_loose
       WHERE event_id IS NULL AND pending = 0 AND at < ? ORDER BY at LIMIT ${BATCH})`,
    keepFrom,
  );
  return entries + deleteLoose(database, "runs", keepFrom) + deleteLoose(database, "deliveries", keepFrom);
}

function deleteLoose(database: Database, table: "runs" | "deliveries", keepFrom: number): number {
  return database.run(
    `DELETE FROM ${table} WHERE seq IN (SELECT seq FROM ${table} INDEXED BY ${table}_loose
       WHERE event_id IS NULL AND finished_at < ? ORDER BY finished_at LIMIT ${BATCH})`,
    keepFrom,
  );
}

/** Deletes the entries that meet the condition and are not pending, and sessions that become empty. Gives the number of entries. */
function deleteEntries(database: Database, condition: string, value: string | number): number {
  const rows = database.all(`DELETE FROM entries WHERE ${condition} AND pending = 0 RETURNING session_key`, value);
  for (const { session_key: key } of rows) {
    database.run("UPDATE sessions SET entries = entries - 1 WHERE key = ?", text(key));
    database.run("DELETE FROM sessions WHERE key = ? AND entries = 0", text(key));
  }
  return rows.length;
}

/** Echoes of older messages are not recognised. */
function sweepSentMessages(database: Database, now: number): number {
  return database.run(
    `DELETE FROM sent_messages WHERE id IN
       (SELECT id FROM sent_messages WHERE sent_at < ? ORDER BY sent_at LIMIT ${KEY_BATCH})`,
    now - HOUR_MS,
  );
}

/** Deletes a batch of keys that have expired or exceed `maxKeys`, except those of unfinished events. Gives how many. */
function sweepKeys(database: Database, { now, maxKeys = Infinity }: Retention): number {
  return database.run(
    `DELETE FROM idempotency_keys WHERE (scope, key) IN
       (SELECT scope, key FROM
         (SELECT * FROM idempotency_keys WHERE expires_at <= ? ORDER BY expires_at LIMIT ${KEY_BATCH})
        AS idempotency_keys WHERE NOT ${IS_UNFINISHED})`,
    Math.max(now, expiryOfExcess(database, maxKeys)),
  );
}

/** When the newest key beyond `maxKeys` expires; 0 if there is none. */
function expiryOfExcess(database: Database, maxKeys: number): number {
  if (maxKeys === Infinity) return 0;
  const row = database.get(
    "SELECT expires_at FROM idempotency_keys ORDER BY expires_at DESC LIMIT 1 OFFSET ?",
    maxKeys,
  );
  return row ? integer(row.expires_at) : 0;
}

function usedBytes(database: Database): number {
  return (readPragma(database, "page_count") - freePages(database)) * readPragma(database, "page_size");
}

/** Truncates free pages at the end of the file. False if there are none. */
function freesPages(database: Database): boolean {
  const before = freePages(database);
  if (before > 0) database.exec(`PRAGMA incremental_vacuum(${BATCH_PAGES})`);
  return freePages(database) < before;
}

function freePages(database: Database): number {
  return readPragma(database, "freelist_count");
}

function readPragma(database: Database, name: "page_count" | "page_size" | "freelist_count"): number {
  return integer(database.get(`PRAGMA ${name}`)?.[name]);
}

/** Each status from its own range of the index, so that a backlog of unfinished events is not scanned. */
const OLDEST_FINISHED = `
  SELECT id, received_at, actions, length(body) AS body_bytes FROM events WHERE seq IN (
    SELECT seq FROM (${["done", "skipped", "rejected", "failed", "dead"]
      .map((status) => `SELECT * FROM (SELECT seq FROM event_states WHERE status = '${status}' ORDER BY seq LIMIT ?1)`)
      .join(" UNION ALL ")}) ORDER BY seq LIMIT ?1)`;
