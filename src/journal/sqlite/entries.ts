import type { Bounded } from "../../boundary/boundary.ts";
import { MAIN_SESSION } from "../../types.ts";
import { type Entry, ENTRY_ROLES, type NewEntry, type TurnOutcome } from "../records.ts";
import { bytes, integer, oneOf, optional, type Row, text } from "../rows.ts";
import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

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
  const { counters } = transaction;
  const { sessionKey, role, at, pending = false, urgent = false } = entry;
  const eventSeq = entry.eventId === undefined ? undefined : origin.eventSeq;
  const runSeq = entry.runId === undefined ? undefined : origin.runSeq;
  // The source is found again by these two.
  const isTraceable = eventSeq !== undefined && runSeq === origin.runSeq;
  const content = JSON.stringify(toContent(entry, isTraceable ? origin.source : NO_SOURCE));
  const values = [counters.nextSeq(), sessionKey, role, at, eventSeq, runSeq, Number(pending), Number(urgent), content];
  transaction.run(INSERT_ENTRY, ...values);
  if (urgent) transaction.announce("heartbeat");
  transaction.report({ kind: "session", key: sessionKey });
}

const INSERT_ENTRY = `
  INSERT OR FAIL INTO entries (seq, session_key, role, at, event_seq, run_seq, pending, urgent, content)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function consumeSystemEvents({ run, counters }: Transaction, seqs: number[]): void {
  if (seqs.length > 0) counters.writeNow();
  for (const seq of seqs) {
    const consumed =
      run("UPDATE OR FAIL entries SET pending = 0 WHERE seq = ? AND pending = 1", seq) ||
      run("UPDATE OR FAIL events SET pending = 0 WHERE seq = ? AND pending = 1", seq);
    counters.add({ systemEvents: -consumed });
  }
}

export function listPendingSystemEvents(database: Database, limit: number = -1): Entry[] {
  const rows = [
    ...database.all(`${SELECT_ENTRIES} WHERE entries.pending = 1 ORDER BY entries.seq LIMIT +?`, limit),
    ...database.all(WAKES, 1, 0, limit),
  ];
  return toFirst(rows, limit);
}

function readEntries(database: Database, seqs: number[]): Entry[] {
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
  const wakes = [0, 1].flatMap((pending) => database.all(WAKES, pending, after, limit));
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

const WAKES = `
  ${SELECT_WAKE} WHERE seq IN (SELECT seq FROM event_states WHERE pending = ? AND seq > ? ORDER BY seq LIMIT +?)`;

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

/** Characters of the texts that are kept in memory. */
const MAX_CHARACTERS = 4_000_000;

/**
 * Reads the turns of sessions. Every turn of a session reads those before it, and an entry never changes: the ones that
 * were read last are kept in memory. Which ones a session has is read each time.
 */
export function createTurnReader(): (database: Database, sessionKey: string, limit: number) => Entry[] {
  const known = new Map<number, Entry>();
  let characters = 0;

  return function listTurns(database, sessionKey, limit) {
    const seqs: number[] = JSON.parse(text(database.get(NEWEST_TURNS, sessionKey, limit)?.seqs));
    const unknown = seqs.filter((seq) => !known.has(seq));
    if (unknown.length > 0) for (const entry of readEntries(database, unknown)) remember(entry);
    const turns = seqs.toSorted((a, b) => a - b).flatMap((seq) => known.get(seq) ?? []);
    forgetOldest();
    return turns;
  };

  function remember(entry: Entry): void {
    known.set(entry.seq, entry);
    characters += entry.text.length;
  }

  /** After the turns were taken, so that a large history is whole. */
  function forgetOldest(): void {
    for (const [seq, entry] of known) {
      if (characters <= MAX_CHARACTERS) return;
      known.delete(seq);
      characters -= entry.text.length;
    }
  }
}

/** As one value: a row for each number would cost as much as the rest of the read. */
const NEWEST_TURNS = `
  SELECT json_group_array(seq) AS seqs FROM (
    SELECT seq FROM entries WHERE session_key = ? AND (role = 'system') = 0 ORDER BY seq DESC LIMIT +?)`;

/*
 * Pieces: prompts and replies often repeat what a row already holds, such as the body of the request. They are stored as pieces of
 * that source.
 */

/** A text as it is, or its parts in order: new text, or bytes of the source. */
export type Pieces = string | (string | [offset: number, length: number])[];

/** A shorter piece would hardly save space. One of this length contains a whole probe, wherever the probes are. */
const MIN_PIECE = 32;
const PROBE = 16;
/** Bound the time for texts that repeat little. */
const MAX_PIECES = 32;
const MAX_MISSES = 32;

/** A text that is found nowhere in the source is given back as it is. */
export function toPieces(whole: string, source: Uint8Array): Pieces {
  if (whole.length < MIN_PIECE || source.length < MIN_PIECE) return whole;
  const encoded = Buffer.from(whole);
  const known = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const pieces: Exclude<Pieces, string> = [];
  let rest = 0;
  let misses = 0;
  for (let at = 0; at + PROBE <= encoded.length && pieces.length < MAX_PIECES && misses < MAX_MISSES;) {
    const found = known.indexOf(encoded.subarray(at, at + PROBE));
    const { start, end } = found === -1 ? NOT_FOUND : extend(encoded, known, { at, found, from: rest });
    if (end - start < MIN_PIECE) {
      misses += 1;
      at += PROBE;
      continue;
    }
    if (start > rest) pieces.push(encoded.toString("utf8", rest, start));
    pieces.push([found - (at - start), end - start]);
    at = end;
    rest = end;
  }
  if (pieces.length === 0) return whole;
  if (rest < encoded.length) pieces.push(encoded.toString("utf8", rest));
  return pieces;
}

export function fromPieces(pieces: Pieces, source: Uint8Array): string {
  if (typeof pieces === "string") return pieces;
  const parts = pieces.map((piece) =>
    typeof piece === "string" ? Buffer.from(piece) : source.subarray(piece[0], piece[0] + piece[1]),
  );
  return Buffer.concat(parts).toString("utf8");
}

const NOT_FOUND = { start: 0, end: 0 };

/** The longest match around the one that was found, in whole characters. */
function extend(
  encoded: Buffer,
  known: Buffer,
  { at, found, from }: { at: number; found: number; from: number },
): { start: number; end: number } {
  const shift = found - at;
  let start = at;
  while (start > from && encoded[start - 1] === known[start - 1 + shift]) start -= 1;
  let end = at + PROBE;
  // A whole field is often repeated up to the end of the text.
  const rest = encoded.length - end;
  const isKnown = end + shift + rest <= known.length;
  if (isKnown && encoded.compare(known, end + shift, end + shift + rest, end) === 0) end += rest;
  while (end < encoded.length && encoded[end] === known[end + shift]) end += 1;
  while (isInsideCharacter(encoded[start])) start += 1;
  while (isInsideCharacter(encoded[end])) end -= 1;
  return { start, end };
}

/** Of a body, an action or a source, in bytes: what is longer is not stored in a row that changes, and not searched. */
export const MAX_INLINE = 4096;

/** Of a text that repeats nothing. */
export const NO_SOURCE = Buffer.of();

/** The source of an event's texts: its body, if it is in the event's row. */
export function sourceOf(body: Uint8Array | undefined): Uint8Array {
  return body && body.length <= MAX_INLINE ? body : NO_SOURCE;
}

/** What the entries of a run may repeat: also its reply. */
export function sourceOfRun(body: Uint8Array | undefined, reply: string): Uint8Array {
  const source = sourceOf(body);
  return reply.length > MAX_INLINE ? source : Buffer.concat([source, Buffer.from(reply)]);
}

/** A text that is stored as pieces, with its boundary. */
export interface Content {
  text: Pieces;
  boundary?: Bounded["boundary"];
}

export function toContent(bounded: Bounded, source: Uint8Array): Content {
  return { text: toPieces(bounded.text, source), boundary: bounded.boundary };
}

function isInsideCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
