import { MAIN_SESSION, RUN_STATES, type RunState } from "../../types.ts";
import type { NewRun } from "../plan.ts";
import { type AgentAction } from "../../types.ts";
import type { Claim, ClaimedRun, Lease, NewEntry, NewEvent, Run, TurnOutcome } from "../records.ts";
import { reportDeadLetter, reportRun, type Transaction } from "./group-commit.ts";
import type { Database } from "./database.ts";
import { fromPieces, type Pieces, toPieces } from "../pieces.ts";
import { bytes, integer, oneOf, optional, type Row, text } from "../rows.ts";
import { insertDeliveries } from "./deliveries.ts";
import {
  consumeSystemEvents,
  type EntryOrigin,
  announceEntry,
  insertEntry,
  MAX_INLINE,
  NO_SOURCE,
  readOutcome,
  sourceOf,
  sourceOfRun,
  type StoredOutcome,
  storeTurn,
} from "./entries.ts";
import { recordSpend, updateRunCounts } from "./counters.ts";
import { isLeaseHeld } from "./leases.ts";

/** Of a session's unfinished runs the oldest is ready or running, the others are queued: a claim never looks at them. */
export function insertRun(
  transaction: Transaction,
  event: NewEvent,
  { runId, action, window }: NewRun,
  { eventSeq, source }: { eventSeq: number; source: Uint8Array },
): void {
  // A run whose window has closed may still be queued.
  if (window) transaction.run("UPDATE runs SET coalesce_key = NULL WHERE coalesce_key = ?", window.key);
  const { mapping = "", receivedAt } = event;
  const { key, closesAt } = window ?? { closesAt: receivedAt };
  const seq = transaction.counters.nextSeq();
  const inline = storeAction(transaction, seq, action, source);
  const { sessionKey } = action;
  transaction.run(INSERT_RUN, seq, runId, eventSeq, mapping, sessionKey, key, receivedAt, closesAt, inline);
  transaction.counters.add({ runs: 1 });
  transaction.announce("run");
}

/** A run that is answered by the commit that accepts it: no claim ever looks at it. */
export interface AnsweredRun {
  run: ClaimedRun;
  outcome: TurnOutcome;
}

export function insertAnswered(
  transaction: Transaction,
  { mapping = "", hook, receivedAt }: NewEvent,
  { run, outcome }: AnsweredRun,
  { eventSeq, source: body }: { eventSeq: number; source: Uint8Array },
): void {
  const { id, sessionKey, action, startedAt } = run;
  const { finishedAt, outcome: stored } = toEnd(outcome, body);
  const { node, counters } = transaction;
  const source = sourceOfRun(body, outcome.reply);
  const turn = storeTurn(run, outcome, source);
  const seq = counters.nextSeq(turn === undefined ? 0 : outcome.entries.length - 1);
  const inline = storeAction(transaction, seq, action, body);
  const values = [seq, id, eventSeq, mapping, sessionKey, node, receivedAt, startedAt, finishedAt, inline, stored];
  transaction.run(INSERT_ANSWERED, ...values, turn, turn === undefined ? undefined : 1);
  if (turn === undefined) insertEntries(transaction, outcome.entries, { eventSeq, runSeq: seq, source });
  else for (const entry of outcome.entries) announceEntry(transaction, entry);
  recordOutcome(transaction, seq, { session_key: sessionKey, hook, mapping }, outcome);
}

const INSERT_ANSWERED = `
  INSERT OR FAIL INTO runs (seq, id, event_seq, mapping, session_key, state, attempts, claims, node, created_at, due_at,
    started_at, finished_at, action, outcome, turn, pending)
  VALUES (?1, ?2, ?3, ?4, ?5, 'done', 1, 1, ?6, ?7, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`;

/** Whether the session has an unfinished run. */
export function isBusy(database: Database, sessionKey: string): boolean {
  return (
    database.get("SELECT 1 FROM runs WHERE session_key = ? AND finished_at IS NULL LIMIT 1", sessionKey) !== undefined
  );
}

/** Gives the `action` column. */
function storeAction(database: Database, seq: number, action: AgentAction, source: Uint8Array): string | undefined {
  const stored = JSON.stringify({ ...action, message: toPieces(action.message, source) } satisfies StoredAction);
  if (stored.length <= MAX_INLINE) return stored;
  database.run("INSERT OR FAIL INTO run_actions (run_seq, action) VALUES (?, ?)", seq, stored);
  return undefined;
}

type StoredAction = Omit<AgentAction, "message"> & { message: Pieces };

const INSERT_RUN = `
  INSERT OR FAIL INTO runs (seq, id, event_seq, mapping, session_key, coalesce_key, state, attempts, claims, created_at,
    due_at, action)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6,
    iif(EXISTS (SELECT 1 FROM runs WHERE session_key = ?5 AND finished_at IS NULL), 'queued', 'ready'), 0, 0, ?7, ?8, ?9)`;

/** How many messages of joined events a run stores; the others are only counted. */
const MAX_JOINED_MESSAGES = 100;

export function insertJoined(database: Database, eventSeq: number, { runId, action }: NewRun): void {
  database.run(INSERT_JOINED, runId, eventSeq, action.message);
}

const INSERT_JOINED = `
  INSERT OR FAIL INTO joined_events (run_seq, place, event_seq, message)
  SELECT seq, place, ?2, iif(place <= ${MAX_JOINED_MESSAGES}, ?3, NULL) FROM (
    SELECT seq, 1 + (SELECT coalesce(max(place), 0) FROM joined_events WHERE run_seq = seq) AS place
    FROM runs WHERE id = ?1)`;

export function completeRun(transaction: Transaction, claim: Claim, outcome: TurnOutcome): boolean {
  const run = endRun(transaction, claim, toEnd(outcome));
  if (!run) return false;
  insertEntries(transaction, outcome.entries, { ...run, source: sourceOfRun(run.body, outcome.reply) });
  recordOutcome(transaction, run.seq, run.row, outcome);
  updateRunCounts(transaction, run, { open: countOpen(outcome) - 1, lost: 0 });
  return true;
}

/** How many deliveries its event waits for. */
export function countOpen({ deliveries }: TurnOutcome): number {
  return deliveries.filter(({ eventId }) => eventId !== undefined).length;
}

/** What a run leaves behind, except its entries. The row is as in `recordSpend`. */
function recordOutcome(transaction: Transaction, seq: number, row: Row, outcome: TurnOutcome): void {
  recordSpend(transaction, row, outcome);
  insertDeliveries(transaction, outcome.deliveries, outcome.finishedAt);
  reportRun(transaction, seq, "done");
}

export function deadLetterRun(
  transaction: Transaction,
  claim: Claim,
  { finishedAt, error, entries }: { finishedAt: number; error: string; entries: NewEntry[] },
): boolean {
  const run = endRun(transaction, claim, { state: "dead", finishedAt, error });
  if (!run) return false;
  insertEntries(transaction, entries, { ...run, source: sourceOf(run.body) });
  updateRunCounts(transaction, run, { open: -1, lost: 1 });
  reportRun(transaction, run.seq, "dead");
  reportDeadLetter(transaction, run.seq, true);
  return true;
}

function insertEntries(transaction: Transaction, entries: NewEntry[], origin: EntryOrigin): void {
  for (const entry of entries) insertEntry(transaction, entry, origin);
}

export function retryRun(transaction: Transaction, { id, token }: Claim, dueAt: number, error: string): boolean {
  transaction.announce("run");
  return reportState(transaction, transaction.get(RETRY_RUN, Math.ceil(dueAt), error, id, token), "ready");
}

export function releaseRun(transaction: Transaction, { id, token }: Claim): boolean {
  transaction.announce("run");
  return reportState(transaction, transaction.get(RELEASE_RUN, id, token), "ready");
}

export function holdRun(transaction: Transaction, { id, token }: Claim, reason: string): boolean {
  return reportState(transaction, transaction.get(HOLD_RUN, reason, id, token), "held");
}

/** Each is the first of its session, and was due when it was claimed. */
export function releaseHeld(
  transaction: Transaction,
  { reason, forGood = false }: { reason?: string; forGood?: boolean } = {},
): number {
  const released = transaction.all(RELEASE_HELD, reason, Number(forGood));
  if (released.length > 0) transaction.announce("run");
  for (const row of released) reportState(transaction, row, "ready");
  return released.length;
}

/** False without a row: the claim is lost. */
function reportState(transaction: Transaction, row: Row | undefined, state: RunState): boolean {
  if (row) reportRun(transaction, integer(row.seq), state);
  return row !== undefined;
}

interface End {
  state: "done" | "dead";
  finishedAt: number;
  error?: string;
  outcome?: string;
}

interface EndedRun {
  seq: number;
  runSeq: number;
  eventSeq: number;
  body: Uint8Array | undefined;
  row: Row;
}

/** Ends a claimed run and makes the next of its session ready. Undefined if the claim is lost. */
function endRun(transaction: Transaction, { id, token }: Claim, end: End): EndedRun | undefined {
  const row = transaction.get(FIND_CLAIMED, id, token);
  if (!row) return undefined;
  const seq = integer(row.seq);
  transaction.run(END_RUN, end.state, end.finishedAt, end.error, end.outcome, seq);
  transaction.counters.add({ runs: -1 });
  if (transaction.run(PROMOTE_NEXT, text(row.session_key)) > 0) transaction.announce("run");
  return { seq, runSeq: seq, eventSeq: integer(row.event_seq), body: optional(bytes, row.body ?? null), row };
}

const FIND_CLAIMED = `
  SELECT runs.seq, event_seq, session_key, mapping, hook, body FROM runs LEFT JOIN events ON events.seq = event_seq
  WHERE runs.id = ? AND claims = ? AND state = 'running'`;

const END_RUN = "UPDATE OR FAIL runs SET state = ?, finished_at = ?, error = ?, outcome = ? WHERE seq = ?";

const PROMOTE_NEXT = `
  UPDATE OR FAIL runs SET state = 'ready' WHERE seq =
    (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`;

const RETRY_RUN = `
  UPDATE OR FAIL runs SET state = 'ready', due_at = ?, error = ? WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING seq`;

const RELEASE_RUN = `
  UPDATE OR FAIL runs SET state = 'ready', attempts = attempts - 1 WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING seq`;

const HOLD_RUN = `
  UPDATE OR FAIL runs SET state = 'held', hold_reason = ?, attempts = attempts - 1
  WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING seq`;

const RELEASE_HELD = `
  UPDATE OR FAIL runs SET state = 'ready', hold_reason = iif(?2, hold_reason, NULL)
  WHERE state = 'held' AND (?1 IS NULL OR hold_reason = ?1) RETURNING seq`;

/* A heartbeat is never queued: its run is recorded when it has ended. Recording it again changes nothing. */

export function completeHeartbeat(
  transaction: Transaction,
  { lease, consumedSeqs, ...run }: { id: string; startedAt: number; consumedSeqs: number[]; lease: Lease },
  outcome: TurnOutcome,
): boolean {
  if (!isLeaseHeld(transaction, lease)) return false;
  const runSeq = insertHeartbeat(transaction, { ...run, ...toEnd(outcome) });
  if (runSeq === undefined) return false;
  recordSpend(transaction, undefined, outcome);
  insertEntries(transaction, outcome.entries, { runSeq, source: NO_SOURCE });
  insertDeliveries(transaction, outcome.deliveries, outcome.finishedAt);
  consumeSystemEvents(transaction, consumedSeqs);
  return true;
}

export function failHeartbeat(
  transaction: Transaction,
  run: { id: string; startedAt: number; finishedAt: number; error: string },
): void {
  insertHeartbeat(transaction, { ...run, state: "dead" });
}

/** Gives its number; undefined if the heartbeat was recorded before. */
function insertHeartbeat(transaction: Transaction, run: End & { id: string; startedAt: number }): number | undefined {
  const { id, state, startedAt, finishedAt, error, outcome } = run;
  const seq = transaction.counters.nextSeq();
  const changed = transaction.run(INSERT_HEARTBEAT, seq, id, state, startedAt, finishedAt, error, outcome);
  if (changed === 0) return undefined;
  transaction.report({ kind: "run", id, state });
  return seq;
}

const INSERT_HEARTBEAT = `
  INSERT INTO runs (seq, id, mapping, session_key, state, attempts, claims, created_at, due_at, started_at, finished_at,
    error, outcome)
  VALUES (?1, ?2, '', '${MAIN_SESSION}', ?3, 1, 0, ?4, ?4, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`;

/** The reply may repeat the source. */
function toEnd({ finishedAt, reply, model, usage, cost, warnings }: TurnOutcome, source: Uint8Array = NO_SOURCE): End {
  const outcome: StoredOutcome = { reply: toPieces(reply, source), model, usage, cost, warnings };
  return { state: "done", finishedAt, outcome: JSON.stringify(outcome) };
}

/** Rows for `toRun`. */
export const SELECT_RUNS = `
  SELECT runs.*, run_actions.action AS wide_action, events.id AS event_id, hook, body
  FROM runs LEFT JOIN run_actions ON run_seq = runs.seq LEFT JOIN events ON events.seq = event_seq`;

export function toRun(row: Row): Run {
  return {
    id: text(row.id),
    kind: row.event_seq === null ? "heartbeat" : "hook",
    eventId: optional(text, row.event_id),
    hook: optional(text, row.hook),
    sessionKey: text(row.session_key),
    action: toAction(row),
    state: oneOf(RUN_STATES, row.state),
    holdReason: row.state === "held" ? optional(text, row.hold_reason) : undefined,
    attempts: integer(row.attempts),
    createdAt: integer(row.created_at),
    dueAt: integer(row.due_at),
    startedAt: optional(integer, row.started_at),
    finishedAt: optional(integer, row.finished_at),
    error: optional(text, row.error),
    ...(row.outcome === null ? { warnings: [] } : readOutcome(row)),
  };
}

function toAction({ action, wide_action: wide, body }: Row): AgentAction | undefined {
  const stored = optional(text, action) ?? optional(text, wide);
  if (stored === undefined) return undefined;
  const { message, ...others }: StoredAction = JSON.parse(stored);
  return { ...others, message: fromPieces(message, sourceOf(optional(bytes, body))) };
}

/** With the messages that joined it. */
export function toWholeRun(database: Database, row: Row): Run {
  const run = toRun(row);
  if (run.action?.coalesce) run.joined = listJoined(database, integer(row.seq));
  return run;
}

function listJoined(database: Database, runSeq: number): Run["joined"] {
  const last = database.get("SELECT max(place) AS place FROM joined_events WHERE run_seq = ?", runSeq);
  if (last?.place === null) return undefined;
  const rows = database.all(
    `SELECT message FROM joined_events WHERE run_seq = ? AND place <= ${MAX_JOINED_MESSAGES} ORDER BY place`,
    runSeq,
  );
  return { messages: rows.map((row) => text(row.message)), leftOut: integer(last?.place) - rows.length };
}
