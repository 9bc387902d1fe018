import type { Entry, NewEntry } from "../journal.ts";
import { type Database, text } from "./database.ts";
import { toEntry } from "./rows.ts";

export function insertEntries(database: Database, entries: NewEntry[]): void {
  for (const entry of entries) insertEntry(database, entry);
}

/** Adds to the end of the entry's session, which begins with its first entry. */
export function insertEntry(database: Database, entry: NewEntry): void {
  database.run(
    `INSERT OR FAIL INTO entries (session_key, role, at, event_id, run_id, pending, urgent, text)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    entry.sessionKey,
    entry.role,
    entry.at,
    entry.eventId,
    entry.runId,
    Number(entry.pending ?? false),
    Number(entry.urgent ?? false),
    entry.text,
  );
  database.run(
    `INSERT INTO sessions (key, created_at, updated_at, entries) VALUES (?1, ?2, ?2, 1)
     ON CONFLICT DO UPDATE SET updated_at = max(updated_at, ?2), entries = entries + 1`,
    entry.sessionKey,
    entry.at,
  );
}

/** The journal's `pendingSystemEvents`. */
export function listPendingSystemEvents(database: Database, limit: number = -1): Entry[] {
  return database.all("SELECT * FROM entries WHERE pending = 1 ORDER BY seq LIMIT ?", limit).map(toEntry);
}

/** System events that a heartbeat was given are pending no longer. */
export function consumeSystemEvents(database: Database, seqs: number[]): void {
  for (const seq of seqs) {
    database.run("UPDATE entries SET pending = 0 WHERE seq = ? AND pending = 1", seq);
  }
}

/** Deletes the entries that meet the condition and are not pending; a session ends with its last. Gives how many. */
export function deleteEntries(database: Database, condition: string, value: string | number): number {
  const rows = database.all(`DELETE FROM entries WHERE ${condition} AND pending = 0 RETURNING session_key`, value);
  for (const row of rows) shortenSession(database, text(row.session_key));
  return rows.length;
}

/** System events that are still pending outlive their event. */
export function detachPending(database: Database, eventId: string): void {
  database.run("UPDATE entries SET event_id = NULL WHERE event_id = ? AND pending = 1", eventId);
}

/** The journal's `history`. */
export function listTurns(database: Database, sessionKey: string, limit: number): Entry[] {
  const newestFirst = database.all(
    "SELECT * FROM entries WHERE session_key = ? AND role <> 'system' ORDER BY seq DESC LIMIT ?",
    sessionKey,
    limit,
  );
  return newestFirst.toReversed().map(toEntry);
}

function shortenSession(database: Database, key: string): void {
  database.run("UPDATE sessions SET entries = entries - 1 WHERE key = ?", key);
  database.run("DELETE FROM sessions WHERE key = ? AND entries = 0", key);
}
