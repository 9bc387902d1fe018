import type { NewEntry } from "../records/session.ts";
import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

/** What an entry belongs to. */
export interface EntryOrigin {
  eventSeq?: number;
  runSeq?: number;
}

/** Adds to the end of the entry's session; the first entry creates the session. */
export function insertEntry(transaction: Transaction, entry: NewEntry, origin: EntryOrigin): void {
  const { counters } = transaction;
  const { sessionKey, role, at, pending = false, urgent = false, boundary, sources, text } = entry;
  transaction.run(
    INSERT_ENTRY,
    counters.nextSeq(),
    sessionKey,
    role,
    at,
    entry.eventId === undefined ? undefined : origin.eventSeq,
    entry.runId === undefined ? undefined : origin.runSeq,
    Number(pending),
    Number(urgent),
    boundary && JSON.stringify(boundary),
    sources && JSON.stringify(sources),
    text,
  );
  counters.extendSession(sessionKey, at);
  counters.add({ systemEvents: Number(pending) });
  if (urgent) transaction.announce("heartbeat");
  transaction.report({ kind: "session", key: sessionKey });
}

const INSERT_ENTRY = `
  INSERT OR FAIL INTO entries (seq, session_key, role, at, event_seq, run_seq, pending, urgent, boundary, sources,
    text)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The entries of an event that no heartbeat has consumed are kept without it. */
export function releasePending(database: Database, eventSeq: number): void {
  database.run("UPDATE entries SET event_seq = NULL, run_seq = NULL WHERE event_seq = ? AND pending = 1", eventSeq);
}
