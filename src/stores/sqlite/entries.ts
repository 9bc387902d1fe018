import type { NewEntry } from "../../core/journal/records/session.ts";
import type { Transaction } from "./group-commit.ts";

/** The event and the run of an entry. */
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
