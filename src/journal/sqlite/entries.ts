import type { Bounded } from "../../boundary/boundary.ts";
import { MAIN_SESSION } from "../../types.ts";
import { fromPieces, type Pieces, toPieces } from "../pieces.ts";
import { type ClaimedRun, type Entry, ENTRY_ROLES, type NewEntry, type TurnOutcome } from "../records.ts";
import { bytes, integer, oneOf, optional, type Row, text } from "../rows.ts";
import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

/*
 * The system event of an event's first wake is in the event's row, the entries of a run that was answered at once are in the
 * run's row, every other entry is in a separate row. All have their numbers from one sequence.
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
  announceEntry(transaction, entry);
}

export function announceEntry({ announce, report }: Transaction, { sessionKey, urgent }: NewEntry): void {
  if (urgent) announce("heartbeat");
  report({ kind: "session", key: sessionKey });
}

const INSERT_ENTRY = `
  INSERT OR FAIL INTO entries (seq, session_key, role, at, event_seq, run_seq, pending, urgent, content)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function consumeSystemEvents({ run, counters }: Transaction, seqs: number[]): void {
  if (seqs.length > 0) counters.writeNow();
  for (const seq of seqs) {
    const consumed =
      run("UPDATE OR FAIL entries SET pending = 0 WHERE seq = ? AND pending = 1", seq) ||
      run("UPDATE OR FAIL events SET pending = 0 WHERE seq = ? AND pending = 1", seq) ||
      run("UPDATE OR FAIL runs SET pending = 0 WHERE seq = ? AND pending = 1", seq - SUMMARY);
    counters.add({ systemEvents: -consumed });
  }
}

export function listPendingSystemEvents(database: Database, limit: number = -1): Entry[] {
  const rows = [
    ...database.all(`${SELECT_ENTRIES} WHERE entries.pending = 1 ORDER BY entries.seq LIMIT +?`, limit),
    ...database.all(WAKES, 1, 0, limit),
  ];
  const summaries = database.all(SUMMARIES, 1, 0, limit).flatMap(toTurn).filter(isSystem);
  return toFirst([...rows.map(toEntry), ...summaries], limit);
}

/** After a cursor, oldest first. Each range of an index is in order. */
export function listEntries(database: Database, sessionKey: string, after: number, limit: number): Entry[] {
  const rows = [0, 1].flatMap((ofSystem) => {
    const where = "WHERE entries.session_key = ? AND (role = 'system') = ? AND entries.seq > ?";
    const sql = `${SELECT_ENTRIES} ${where} ORDER BY entries.seq LIMIT ?`;
    return database.all(sql, sessionKey, ofSystem, after, limit);
  });
  const turns = database
    .all(TURNS, sessionKey, after - ASSISTANT, limit)
    .flatMap(toTurn)
    .filter((entry) => !isSystem(entry));
  if (sessionKey !== MAIN_SESSION) return toFirst([...rows.map(toEntry), ...turns], limit, after);
  const wakes = [0, 1].flatMap((pending) => database.all(WAKES, pending, after, limit));
  const summaries = [0, 1].flatMap((pending) => database.all(SUMMARIES, pending, after - SUMMARY, limit));
  const entries = [...[...rows, ...wakes].map(toEntry), ...turns, ...summaries.flatMap(toTurn).filter(isSystem)];
  return toFirst(entries, limit, after);
}

/** Of events, those of these runs alone if there are any; and the event's own wake. */
export function listEventEntries(database: Database, eventSeq: number, events: string, runs: string): Entry[] {
  const where = `WHERE entries.event_seq IN (SELECT value FROM json_each(?1))
    AND (entries.event_seq = ?2 OR run_seq IN (SELECT value FROM json_each(?3)))`;
  const rows = [
    ...database.all(`${SELECT_ENTRIES} ${where}`, events, eventSeq, runs),
    ...database.all(`${SELECT_WAKE} WHERE seq = ? AND pending IS NOT NULL`, eventSeq),
  ];
  return toFirst([...rows.map(toEntry), ...readTurns(database, runs)], -1);
}

/** The entries of an event and its runs that no heartbeat has consumed, whole: they are kept without them. */
export function releasePending(database: Database, eventSeq: number, runs: string): void {
  const rows = [
    ...database.all(`${SELECT_ENTRIES} WHERE entries.event_seq = ? AND entries.pending = 1`, eventSeq),
    ...database.all(`${SELECT_WAKE} WHERE seq = ? AND pending = 1`, eventSeq),
  ];
  const pending = [...rows.map(toEntry), ...readTurns(database, runs).filter((entry) => entry.pending)];
  for (const { seq, sessionKey, role, at, urgent, text: whole, boundary } of pending) {
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

/** The first of several lists together behind a cursor; all if the limit is -1. */
function toFirst(entries: Entry[], limit: number, after = 0): Entry[] {
  const inOrder = entries.filter(({ seq }) => seq > after).toSorted((a, b) => a.seq - b.seq);
  return limit < 0 ? inOrder : inOrder.slice(0, limit);
}

function isSystem({ role }: Entry): boolean {
  return role === "system";
}

export function toEntry(row: Row): Entry {
  const content: Content = JSON.parse(text(row.content));
  return {
    seq: integer(row.seq),
    sessionKey: text(row.session_key),
    role: oneOf(ENTRY_ROLES, row.role),
    ...fromContent(content, typeof content.text === "string" ? NO_SOURCE : findSource(row)),
    at: integer(row.at),
    eventId: optional(text, row.event_id),
    runId: optional(text, row.run_id),
    pending: row.pending === 1 || undefined,
    urgent: row.urgent === 1 || undefined,
  };
}

function findSource(row: Row): Uint8Array {
  const body = optional(bytes, row.body);
  return row.outcome === null ? sourceOf(body) : sourceOfRun(body, readOutcome(row).reply);
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
    const { entries, runs } = database.get(NEWEST_TURNS, sessionKey, limit) ?? {};
    const inEntries: number[] = JSON.parse(text(entries));
    const inRuns: number[] = JSON.parse(text(runs));
    const newEntries = inEntries.filter((seq) => !known.has(seq));
    const newRuns = inRuns.filter((seq) => !known.has(seq) || !known.has(seq + ASSISTANT));
    if (newEntries.length > 0) readEntries(database, newEntries).forEach(remember);
    if (newRuns.length > 0) readTurns(database, JSON.stringify(newRuns)).forEach(remember);
    const seqs = [...inEntries, ...inRuns.flatMap((seq) => [seq, seq + ASSISTANT])];
    const turns = seqs.toSorted((a, b) => a - b).flatMap((seq) => known.get(seq) ?? []);
    forgetOldest();
    return turns.slice(-limit);
  };

  function remember(entry: Entry): void {
    if (known.has(entry.seq) || isSystem(entry)) return;
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

/** Each as one value: a row for each number would cost as much as the rest of the read. */
const NEWEST_TURNS = `
  SELECT (SELECT json_group_array(seq) FROM (
      SELECT seq FROM entries WHERE session_key = ?1 AND (role = 'system') = 0 ORDER BY seq DESC LIMIT +?2)) AS entries,
    (SELECT json_group_array(seq) FROM (
      SELECT seq FROM runs WHERE session_key = ?1 AND turn IS NOT NULL ORDER BY seq DESC LIMIT +?2)) AS runs`;

function readEntries(database: Database, seqs: number[]): Entry[] {
  const where = "WHERE entries.seq IN (SELECT value FROM json_each(?))";
  return database.all(`${SELECT_ENTRIES} ${where}`, JSON.stringify(seqs)).map(toEntry);
}

/*
 * The entries of a run that was answered at once, in the run's row. Its number is that of the user's entry; the next two are
 * those of the assistant's entry and of the summary.
 */

const ASSISTANT = 1;
const SUMMARY = 2;

/** The `turn` column. */
interface Turn {
  /** Of the user's entry; the others are of the time at which the run finished. */
  at: number;
  user: Content;
  /** Absent: it is the reply. */
  assistant?: Content;
  summary: Content & { urgent: boolean };
}

/** Gives the `turn` column; undefined if the run has other entries, or if they are too long. */
export function storeTurn(
  { id, eventId, sessionKey }: ClaimedRun,
  { finishedAt, reply, entries }: TurnOutcome,
  source: Uint8Array,
): string | undefined {
  const [user, assistant, summary] = entries;
  const isOwn = (entry: NewEntry | undefined, role: NewEntry["role"], key: string): entry is NewEntry =>
    entry?.role === role && entry.sessionKey === key && entry.eventId === eventId && entry.runId === id;
  const isTurn =
    entries.length === 3 &&
    isOwn(user, "user", sessionKey) &&
    isOwn(assistant, "assistant", sessionKey) &&
    assistant.at === finishedAt &&
    isOwn(summary, "system", MAIN_SESSION) &&
    summary.at === finishedAt &&
    summary.pending === true;
  if (!isTurn) return undefined;
  const turn: Turn = {
    at: user.at,
    user: toContent(user, source),
    assistant: assistant.text === reply && !assistant.boundary ? undefined : toContent(assistant, source),
    summary: { ...toContent(summary, source), urgent: summary.urgent ?? false },
  };
  const stored = JSON.stringify(turn);
  return stored.length <= MAX_INLINE ? stored : undefined;
}

/** Rows for `toTurn`. */
export const SELECT_TURNS = `
  SELECT runs.seq, runs.id AS run_id, session_key, finished_at, outcome, turn, runs.pending, events.id AS event_id, body
  FROM runs LEFT JOIN events ON events.seq = event_seq`;

const TURNS = `
  ${SELECT_TURNS} WHERE session_key = ? AND turn IS NOT NULL AND runs.seq > ? ORDER BY runs.seq LIMIT +?`;
const SUMMARIES = `${SELECT_TURNS} WHERE runs.pending = ? AND runs.seq > ? ORDER BY runs.seq LIMIT +?`;

export function toTurn(row: Row): Entry[] {
  const { at, user, assistant, summary }: Turn = JSON.parse(text(row.turn));
  const { reply } = readOutcome(row);
  const source = sourceOfRun(optional(bytes, row.body), reply);
  const seq = integer(row.seq);
  const sessionKey = text(row.session_key);
  const finished = { at: integer(row.finished_at), eventId: optional(text, row.event_id), runId: text(row.run_id) };
  return [
    { ...finished, seq, sessionKey, role: "user", at, ...fromContent(user, source) },
    {
      ...finished,
      seq: seq + ASSISTANT,
      sessionKey,
      role: "assistant",
      ...(assistant ? fromContent(assistant, source) : { text: reply }),
    },
    {
      ...finished,
      seq: seq + SUMMARY,
      sessionKey: MAIN_SESSION,
      role: "system",
      ...fromContent(summary, source),
      pending: row.pending === 1 || undefined,
      urgent: summary.urgent || undefined,
    },
  ];
}

/** Of those of these runs that have one in their row. */
function readTurns(database: Database, runs: string): Entry[] {
  const where = "WHERE runs.seq IN (SELECT value FROM json_each(?)) AND turn IS NOT NULL";
  return database.all(`${SELECT_TURNS} ${where}`, runs).flatMap(toTurn);
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

/** The `outcome` column of a run: what is only read whole. */
export type StoredOutcome = Omit<Outcome, "reply"> & { reply: Pieces };
type Outcome = Pick<TurnOutcome, "reply" | "model" | "usage" | "cost" | "warnings">;

export function readOutcome({ outcome, body }: Row): Outcome {
  const { reply, ...others }: StoredOutcome = JSON.parse(text(outcome));
  return { reply: fromPieces(reply, sourceOf(optional(bytes, body))), ...others };
}

/** A text that is stored as pieces, with its boundary. */
export interface Content {
  text: Pieces;
  boundary?: Bounded["boundary"];
}

export function toContent(bounded: Bounded, source: Uint8Array): Content {
  return { text: toPieces(bounded.text, source), boundary: bounded.boundary };
}

function fromContent({ text: pieces, boundary }: Content, source: Uint8Array): Bounded {
  return { text: fromPieces(pieces, source), boundary };
}
