import { type Entry, ENTRY_ROLES, type NewEntry } from "../records.ts";
import { type Database, integer, oneOf, optional, type SqlRow, text } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

export function insertEntries(transaction: Transaction, entries: NewEntry[]): void {
  for (const entry of entries) insertEntry(transaction, entry);
}

/** Adds to the end of the entry's session; the first entry creates the session. */
export function insertEntry(transaction: Transaction, entry: NewEntry): void {
  const { sessionKey, role, at, eventId, runId, pending = false, urgent = false } = entry;
  transaction.run(INSERT_ENTRY, sessionKey, role, at, eventId, runId, Number(pending), Number(urgent), entry.text);
  transaction.run(EXTEND_SESSION, sessionKey, at);
  if (urgent) transaction.announce("heartbeat");
  transaction.report({ kind: "session", key: sessionKey });
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

export function listTurns(database: Database, sessionKey: string, limit: number): Entry[] {
  const newestFirst = database.all(
    "SELECT * FROM entries WHERE session_key = ? AND role <> 'system' ORDER BY seq DESC LIMIT ?",
    sessionKey,
    limit,
  );
  return newestFirst.toReversed().map(toEntry);
}

export function toEntry(row: SqlRow): Entry {
  return {
    seq: integer(row.seq),
    sessionKey: text(row.session_key),
    role: oneOf(ENTRY_ROLES, row.role),
    text: text(row.text),
    at: integer(row.at),
    eventId: optional(text, row.event_id),
    runId: optional(text, row.run_id),
    pending: row.pending === 1 || undefined,
    urgent: row.urgent === 1 || undefined,
  };
}
