import type { Entry, NewEntry } from "../journal.ts";
import { type Database, text } from "./database.ts";
import type { Transaction } from "./group-commit.ts";
import { toEntry } from "./rows.ts";

export function insertEntries(transaction: Transaction, entries: NewEntry[]): void {
  for (const entry of entries) insertEntry(transaction, entry);
}

/** Adds to the end of the entry's session; the first entry creates the session. */
export function insertEntry(transaction: Transaction, entry: NewEntry): void {
  const { sessionKey, role, at, eventId, runId, pending = false, urgent = false } = entry;
  const flags = [Number(pending), Number(urgent)];
  const seq = transaction.insert(INSERT_ENTRY, sessionKey, role, at, eventId, runId, ...flags, entry.text);
  transaction.run(EXTEND_SESSION, sessionKey, at);
  transaction.changed({ kind: "entry", seq, sessionKey, urgent });
}

const INSERT_ENTRY = `
  INSERT OR FAIL INTO entries (session_key, role, at, event_id, run_id, pending, urgent, text)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

const EXTEND_SESSION = `
  INSERT INTO sessions (key, created_at, updated_at, entries) VALUES (?1, ?2, ?2, 1)
  ON CONFLICT DO UPDATE SET updated_at = max(updated_at, ?2), entries = entries + 1`;

export function listPendingSystemEvents(database: Database, limit: number = -1): Entry[] {
  return database.all("SELECT * FROM entries WHERE pending = 1 ORDER BY seq LIMIT ?", limit).map(toEntry);
}

export function consumeSystemEvents(database: Database, seqs: number[]): void {
  for (const seq of seqs) {
    database.run("UPDATE entries SET pending = 0 WHERE seq = ? AND pending = 1", seq);
  }
}

/** Deletes the entries that meet the condition and are not pending, and sessions that become empty. Gives the number of entries. */
export function deleteEntries(database: Database, condition: string, value: string | number): number {
  const rows = database.all(`DELETE FROM entries WHERE ${condition} AND pending = 0 RETURNING session_key`, value);
  for (const row of rows) shortenSession(database, text(row.session_key));
  return rows.length;
}

/** Pending system events outlive their event. */
export function detachPending(database: Database, eventId: string): void {
  database.run("UPDATE entries SET event_id = NULL WHERE event_id = ? AND pending = 1", eventId);
}

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
