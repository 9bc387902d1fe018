import { MAIN_SESSION } from "../../types.ts";
import { type Entry, ENTRY_ROLES, type NewEntry, type TurnOutcome } from "../records.ts";
import type { Database } from "./database.ts";
import { bytes, integer, oneOf, optional, type Row, text } from "../rows.ts";
import type { Transaction } from "./group-commit.ts";
import { type Content, fromPieces, NO_SOURCE, sourceOf, sourceOfRun, toContent } from "./pieces.ts";

/*
 * The system event of an event's first wake is in the event's row, every other entry in a separate row. Both have
 * their numbers from one sequence.
 */

/** What an entry belongs to. */
export interface EntryOrigin {
  eventSeq?: number;
  runSeq?: number;
  /** What its text may repeat. */
  source: Uint8Array;
}

/** Adds to the end of the entry's session; the first entry creates the session. */
export function insertEntry(transaction: Transaction, entry: NewEntry, origin: EntryOrigin): void {
  const { tally } = transaction;
  const { sessionKey, role, at, pending = false, urgent = false } = entry;
  const eventSeq = entry.eventId === undefined ? undefined : origin.eventSeq;
  const runSeq = entry.runId === undefined ? undefined : origin.runSeq;
  // The source is found again by these two.
  const isTraceable = eventSeq !== undefined && runSeq === origin.runSeq;
  const content = JSON.stringify(toContent(entry, isTraceable ? origin.source : NO_SOURCE));
  const values = [tally.nextSeq(), sessionKey, role, at, eventSeq, runSeq, Number(pending), Number(urgent), content];
  transaction.run(INSERT_ENTRY, ...values);
  tally.extendSession(sessionKey, at);
  if (pending) tally.count({ systemEvents: 1 });
  if (urgent) transaction.announce("heartbeat");
  transaction.report({ kind: "session", key: sessionKey });
}

const INSERT_ENTRY = `
  INSERT OR FAIL INTO entries (seq, session_key, role, at, event_seq, run_seq, pending, urgent, content)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function consumeSystemEvents({ run, tally }: Transaction, seqs: number[]): void {
  for (const seq of seqs) {
    const consumed =
      run("UPDATE OR FAIL entries SET pending = 0 WHERE seq = ? AND pending = 1", seq) ||
      run("UPDATE OR FAIL events SET pending = 0 WHERE seq = ? AND pending = 1", seq);
    tally.count({ systemEvents: -consumed });
  }
}

export function listPendingSystemEvents(database: Database, limit: number = -1): Entry[] {
  const rows = [
    ...database.all(`${SELECT_ENTRIES} WHERE entries.pending = 1 ORDER BY entries.seq LIMIT +?`, limit),
    ...database.all(`${SELECT_WAKES} WHERE pending = 1 ORDER BY seq LIMIT +?`, limit),
  ];
  return toFirst(rows, limit);
}

export function readEntries(database: Database, seqs: number[]): Entry[] {
  const where = "WHERE entries.seq IN (SELECT value FROM json_each(?))";
  return database.all(`${SELECT_ENTRIES} ${where}`, JSON.stringify(seqs)).map(toEntry);
}

/** After a cursor, oldest first. Each range of an index is in order. */
export function listEntries(database: Database, sessionKey: string, after: number, limit: number): Entry[] {
  const rows = [0, 1].flatMap((isSystem) => {
    const where = "WHERE entries.session_key = ? AND (role = 'system') = ? AND entries.seq > ?";
    const sql = `${SELECT_ENTRIES} ${where} ORDER BY entries.seq LIMIT ?`;
    return database.all(sql, sessionKey, isSystem, after, limit);
  });
  if (sessionKey !== MAIN_SESSION) return toFirst(rows, limit);
  const wakes = [0, 1].flatMap((pending) =>
    database.all(`${SELECT_WAKES} WHERE pending = ? AND seq > ? ORDER BY seq LIMIT ?`, pending, after, limit),
  );
  return toFirst([...rows, ...wakes], limit);
}

/** Of events, those of these runs alone if there are any; and the event's own wake. */
export function listEventEntries(database: Database, eventSeq: number, events: string, runs: string): Entry[] {
  const where = `WHERE entries.event_seq IN (SELECT value FROM json_each(?1))
    AND (entries.event_seq = ?2 OR run_seq IN (SELECT value FROM json_each(?3)))`;
  const rows = [
    ...database.all(`${SELECT_ENTRIES} ${where}`, events, eventSeq, runs),
    ...database.all(`${SELECT_WAKE} WHERE seq = ? AND pending IS NOT NULL`, eventSeq),
  ];
  return toFirst(rows, -1);
}

/** The entries of an event that no heartbeat has consumed, whole: they are kept without it. */
export function releasePending(database: Database, eventSeq: number): void {
  const rows = [
    ...database.all(`${SELECT_ENTRIES} WHERE entries.event_seq = ? AND entries.pending = 1`, eventSeq),
    ...database.all(`${SELECT_WAKE} WHERE seq = ? AND pending = 1`, eventSeq),
  ];
  for (const { seq, sessionKey, role, at, urgent, text: whole, boundary } of rows.map(toEntry)) {
    const content = JSON.stringify({ text: whole, boundary } satisfies Content);
    database.run(REPLACE_ENTRY, seq, sessionKey, role, at, Number(urgent ?? false), content);
  }
}

const REPLACE_ENTRY = `
  INSERT OR REPLACE INTO entries (seq, session_key, role, at, pending, urgent, content) VALUES (?, ?, ?, ?, 1, ?, ?)`;

/* Rows for `toEntry`. */

export const SELECT_ENTRIES = `
  SELECT entries.seq, entries.session_key, role, entries.at, entries.pending, urgent, content, events.id AS event_id, body,
    runs.id AS run_id, outcome
  FROM entries LEFT JOIN events ON events.seq = entries.event_seq LEFT JOIN runs ON runs.seq = run_seq`;

export const SELECT_WAKE = `
  SELECT seq, '${MAIN_SESSION}' AS session_key, 'system' AS role, received_at AS at, pending,
    detail ->> '$.wake.urgent' AS urgent, detail -> '$.wake' AS content, id AS event_id, body, NULL AS run_id,
    NULL AS outcome
  FROM events`;

const SELECT_WAKES = `${SELECT_WAKE} INDEXED BY events_wakes`;

/** The first of several lists together; all if the limit is -1. */
function toFirst(rows: Row[], limit: number): Entry[] {
  const inOrder = rows.toSorted((a, b) => integer(a.seq) - integer(b.seq));
  return (limit < 0 ? inOrder : inOrder.slice(0, limit)).map(toEntry);
}

export function toEntry(row: Row): Entry {
  const { text: pieces, boundary }: Content = JSON.parse(text(row.content));
  return {
    seq: integer(row.seq),
    sessionKey: text(row.session_key),
    role: oneOf(ENTRY_ROLES, row.role),
    text: typeof pieces === "string" ? pieces : fromPieces(pieces, findSource(row)),
    boundary,
    at: integer(row.at),
    eventId: optional(text, row.event_id),
    runId: optional(text, row.run_id),
    pending: row.pending === 1 || undefined,
    urgent: row.urgent === 1 || undefined,
  };
}

function findSource({ body, outcome }: Row): Uint8Array {
  const stored = optional(bytes, body);
  if (outcome === null) return sourceOf(stored);
  const { reply }: Pick<TurnOutcome, "reply"> = JSON.parse(text(outcome));
  return sourceOfRun(stored, reply);
}
