import type { Retention } from "../../core/journal/journal.ts";
import type { Database } from "./database.ts";
import { integer, type Row, text } from "../../core/journal/columns.ts";
import type { Transaction } from "./group-commit.ts";
import { FINISHED_STATUSES, sweepSharedTables } from "../../core/journal/writes/retention.ts";
import { createWriter, finish } from "./writer.ts";

/** Most rows of a kind, and most bytes of bodies, that one commit deletes: it blocks the event loop. */
const BATCH = 100;
const BATCH_BYTES = 4_000_000;

/** Most pages that one commit returns to the file system: about a megabyte. */
const BATCH_PAGES = 256;

export function sweep(transaction: Transaction, retention: Retention): boolean {
  const { keepFrom, maxBytes = Infinity } = retention;
  const events = sweepEvents(transaction, retention) + sweepHeartbeats(transaction, keepFrom);
  const publishedBefore = usedBytes(transaction) > maxBytes ? Infinity : keepFrom;
  const others = finish(sweepSharedTables(createWriter(transaction), retention, { limit: BATCH, publishedBefore }));
  return events + others > 0 || freesPages(transaction);
}

/** While the file is too large, age does not matter. */
function sweepEvents(transaction: Transaction, { keepFrom, maxBytes = Infinity }: Retention): number {
  const isTooLarge = usedBytes(transaction) > maxBytes;
  const oldest = transaction.all(OLDEST_FINISHED, BATCH);
  const expired = oldest.filter((row) => isTooLarge || integer(row.received_at) < keepFrom);
  const batch = withinBytes(expired);
  for (const row of batch) deleteEvent(transaction, row);
  return batch.length;
}

/** The first events within `BATCH_BYTES`, at least one. */
function withinBytes(events: Row[]): Row[] {
  let bytes = 0;
  return events.filter((row, index) => {
    bytes += integer(row.body_bytes);
    return index === 0 || bytes <= BATCH_BYTES;
  });
}

function deleteEvent(transaction: Transaction, row: Row): void {
  const [seq, id] = [integer(row.seq), text(row.id)];
  const runs = transaction.all(RUNS_OF_EVENT, text(row.detail), seq);
  // Pending system events outlive their event.
  transaction.run("UPDATE entries SET event_seq = NULL, run_seq = NULL WHERE event_seq = ? AND pending = 1", seq);
  for (const run of runs) deleteRun(transaction, run);
  transaction.run("DELETE FROM failed_attempts WHERE work_id IN (SELECT id FROM deliveries WHERE event_id = ?)", id);
  transaction.run("DELETE FROM deliveries WHERE event_id = ?", id);
  deleteEntries(transaction, "event_seq = ?", seq);
  transaction.run("DELETE FROM bodies WHERE event_seq = ?", seq);
  transaction.run("DELETE FROM answers WHERE event_id = ?", id);
  transaction.run("DELETE FROM events WHERE seq = ?", seq);
  transaction.counters.add({ events: -1 });
}

/** A receipt can also name a run of an earlier event with the same idempotency key. */
const RUNS_OF_EVENT = `
  SELECT seq FROM runs
  WHERE id IN (SELECT value ->> 'runId' FROM json_each(?, '$.actions')) AND event_seq = ?`;

function deleteRun({ run }: Transaction, row: Row): void {
  const seq = integer(row.seq);
  run("DELETE FROM steps WHERE run_id = (SELECT id FROM runs WHERE seq = ?)", seq);
  run("DELETE FROM failed_attempts WHERE work_id = (SELECT id FROM runs WHERE seq = ?)", seq);
  run("DELETE FROM approvals WHERE run_id = (SELECT id FROM runs WHERE seq = ?)", seq);
  run("DELETE FROM runs WHERE seq = ?", seq);
  run("DELETE FROM run_actions WHERE run_seq = ?", seq);
  run("DELETE FROM joined_events WHERE run_seq = ?", seq);
}

/** Deletes rows of no event: heartbeats with their entries and deliveries, and system events of deleted events. */
function sweepHeartbeats(transaction: Transaction, keepFrom: number): number {
  const entries = deleteEntries(
    transaction,
    `seq IN (SELECT seq FROM entries INDEXED BY entries_loose
       WHERE event_seq IS NULL AND pending = 0 AND at < ? ORDER BY at LIMIT ${BATCH})`,
    keepFrom,
  );
  transaction.run(`DELETE FROM failed_attempts WHERE work_id IN (SELECT id ${LOOSE_DELIVERIES})`, keepFrom);
  const deliveries = transaction.run(`DELETE FROM deliveries WHERE seq IN (SELECT seq ${LOOSE_DELIVERIES})`, keepFrom);
  return entries + transaction.run(DELETE_HEARTBEATS, keepFrom) + deliveries;
}

const DELETE_HEARTBEATS = `
  DELETE FROM runs WHERE seq IN (SELECT seq FROM runs INDEXED BY runs_heartbeats
    WHERE event_seq IS NULL AND finished_at < ? ORDER BY finished_at LIMIT ${BATCH})`;

const LOOSE_DELIVERIES = `FROM deliveries INDEXED BY deliveries_loose
  WHERE event_id IS NULL AND finished_at < ? ORDER BY finished_at LIMIT ${BATCH}`;

/** Deletes the entries that meet the condition and are not pending. Gives how many. */
function deleteEntries({ all, counters }: Transaction, condition: string, value: number): number {
  const rows = all(`DELETE FROM entries WHERE ${condition} AND pending = 0 RETURNING session_key`, value);
  for (const { session_key: key } of rows) counters.shortenSession(text(key));
  return rows.length;
}

export function usedBytes(database: Database): number {
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
  SELECT seq, id, received_at, detail, coalesce(length(body), 0) AS body_bytes
  FROM events LEFT JOIN bodies ON event_seq = seq WHERE seq IN (
    SELECT seq FROM (${FINISHED_STATUSES.map(
      (status) =>
        `SELECT * FROM (SELECT seq FROM events INDEXED BY events_status WHERE status = '${status}' ORDER BY seq LIMIT ?1)`,
    ).join(" UNION ALL ")}) ORDER BY seq LIMIT ?1) ORDER BY seq`;
