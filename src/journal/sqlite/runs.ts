import { MAIN_SESSION, QUESTION_HOLDS, type RunState } from "../../types.ts";
import { type NewRun, toAccessText } from "../plan.ts";
import type { NewEvent } from "../records/event.ts";
import type { Claim } from "../records/node.ts";
import type { GiveBack, HeldFilter, Questions, RunFailure, TurnOutcome } from "../records/run.ts";
import type { NewEntry } from "../records/session.ts";
import { toErrorGroup } from "../error-group.ts";
import { insertFailedAttempt } from "./failed-attempts.ts";
import { holdForQuestions, insertApprovals } from "./approvals.ts";
import { reportDeadLetter, reportRun, type Transaction } from "./group-commit.ts";
import type { Database } from "./database.ts";
import { fromOutcome, integer, type Row, text } from "../rows.ts";
import { insertDeliveries } from "./deliveries.ts";
import { consumeSystemEvents, type EntryOrigin, insertEntry } from "./entries.ts";
import { recordSpend, updateRunCounts } from "./counters.ts";
import { findClaimed, insertStep } from "./steps.ts";

/** The oldest of a session's unfinished runs is ready or running, the others are queued: a claim never looks at them. */
export function insertRun(
  transaction: Transaction,
  event: NewEvent,
  { runId, action, window }: NewRun,
  eventSeq: number,
): void {
  // A run whose window has closed may still be queued.
  if (window) transaction.run("UPDATE runs SET coalesce_key = NULL WHERE coalesce_key = ?", window.key);
  const { mapping = "", receivedAt } = event;
  const seq = transaction.counters.nextSeq();
  const values = [seq, runId, eventSeq, mapping, action.sessionKey, window?.key, receivedAt, window?.closesAt];
  transaction.run(INSERT_RUN, ...values);
  transaction.run("INSERT OR FAIL INTO run_actions (run_seq, action) VALUES (?, ?)", seq, JSON.stringify(action));
  transaction.counters.add({ runs: 1 });
  transaction.announce("run");
}

const INSERT_RUN = `
  INSERT OR FAIL INTO runs (seq, id, kind, event_seq, mapping, session_key, coalesce_key, state, attempts, claims,
    created_at, due_at, not_before)
  VALUES (?1, ?2, 'hook', ?3, ?4, ?5, ?6,
    iif(EXISTS (SELECT 1 FROM runs WHERE session_key = ?5 AND finished_at IS NULL), 'queued', 'ready'), 0, 0, ?7, ?7, ?8)`;

/** How many messages of joined events a run stores; the others are only counted. */
export const MAX_JOINED_MESSAGES = 100;

export function insertJoined(database: Database, eventSeq: number, { runId, action }: NewRun): void {
  database.run(INSERT_JOINED, runId, eventSeq, action.message, toAccessText(action));
}

const INSERT_JOINED = `
  INSERT OR FAIL INTO joined_events (run_seq, place, event_seq, message, access)
  SELECT seq, place, ?2, iif(place <= ${MAX_JOINED_MESSAGES}, ?3, NULL), ?4 FROM (
    SELECT seq, 1 + (SELECT coalesce(max(place), 0) FROM joined_events WHERE run_seq = seq) AS place
    FROM runs WHERE id = ?1)`;

export function completeRun(transaction: Transaction, claim: Claim, outcome: TurnOutcome): boolean {
  const run = endRun(transaction, claim, toEnd(outcome));
  if (!run) return false;
  insertEntries(transaction, outcome.entries, run);
  recordSpend(transaction, run.row, { ...(outcome.lastStep ?? outcome), finishedAt: outcome.finishedAt });
  if (outcome.lastStep) insertStep(transaction, claim.id, outcome.lastStep);
  insertDeliveries(transaction, outcome.deliveries, outcome.finishedAt);
  insertApprovals(transaction, outcome.questions ?? []);
  const waitsFor = outcome.deliveries.filter(({ eventId }) => eventId !== undefined).length;
  updateRunCounts(transaction, run, { open: waitsFor - 1, dead: 0 });
  reportRun(transaction, run.seq, "done");
  return true;
}

export function deadLetterRun(
  transaction: Transaction,
  claim: Claim,
  { finishedAt, error, entries, deliveries = [] }: RunFailure,
): boolean {
  const run = endRun(transaction, claim, { state: "dead", finishedAt, error });
  if (!run) return false;
  insertFailedAttempt(transaction, "runs", claim.id, { at: finishedAt, error });
  insertEntries(transaction, entries, run);
  insertDeliveries(transaction, deliveries, finishedAt);
  updateRunCounts(transaction, run, { open: deliveries.length - 1, dead: 1 });
  reportRun(transaction, run.seq, "dead");
  reportDeadLetter(transaction, run.seq, true);
  return true;
}

function insertEntries(transaction: Transaction, entries: NewEntry[], origin: EntryOrigin): void {
  for (const entry of entries) insertEntry(transaction, entry, origin);
}

export function retryRun(transaction: Transaction, { id, token }: Claim, dueAt: number, error: string): boolean {
  transaction.announce("run");
  return postpone(transaction, [Math.ceil(dueAt), error, 0, undefined, undefined, id, token], { id, error });
}

export function giveBackRun(
  transaction: Transaction,
  { id, token }: Claim,
  dueAt: number,
  { error, unavailableSince, waitingFor }: GiveBack,
): boolean {
  transaction.announce("run");
  return postpone(transaction, [Math.ceil(dueAt), error, 1, unavailableSince, waitingFor, id, token], { id, error });
}

function postpone(
  transaction: Transaction,
  values: (string | number | undefined)[],
  { id, error }: { id: string; error: string },
): boolean {
  const row = transaction.get(RETRY_RUN, ...values);
  if (row) insertFailedAttempt(transaction, "runs", id, { at: Date.now(), error });
  return reportState(transaction, row, "ready");
}

export function releaseRun(transaction: Transaction, { id, token }: Claim): boolean {
  transaction.announce("run");
  return reportState(transaction, transaction.get(RELEASE_RUN, id, token), "ready");
}

export function holdRun(transaction: Transaction, claim: Claim, reason: string, questions?: Questions): boolean {
  if (questions) return holdForQuestions(transaction, claim, reason, questions);
  const { id, token } = claim;
  return reportState(transaction, transaction.get(HOLD_RUN, reason, id, token), "held");
}

/** Each is the first of its session, and was due when it was claimed. */
export function releaseHeld(
  transaction: Transaction,
  { reason, runs, sessionKey, forGood = false }: HeldFilter & { forGood?: boolean } = {},
): number {
  const values = [reason, Number(forGood), runs && JSON.stringify(runs), sessionKey, ...Object.values(QUESTION_HOLDS)];
  const released = transaction.all(RELEASE_HELD, ...values);
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
  row: Row;
}

/** Ends a claimed run and makes the next of its session ready. Undefined if the claim is lost. */
function endRun(transaction: Transaction, claim: Claim, end: End): EndedRun | undefined {
  const row = findClaimed(transaction, claim);
  if (!row) return undefined;
  const seq = integer(row.seq);
  const group = end.error === undefined ? undefined : toErrorGroup(end.error);
  transaction.run(END_RUN, end.state, end.finishedAt, end.error, group, end.outcome, seq);
  transaction.counters.add({ runs: -1 });
  promoteNext(transaction, text(row.session_key));
  return { seq, runSeq: seq, eventSeq: integer(row.event_seq), row };
}

/** The next of the session can start. */
export function promoteNext(transaction: Transaction, sessionKey: string): void {
  if (transaction.run(PROMOTE_NEXT, sessionKey) > 0) transaction.announce("run");
}

const END_RUN =
  "UPDATE OR FAIL runs SET state = ?, finished_at = ?, error = ?, error_group = ?, outcome = ? WHERE seq = ?";

const PROMOTE_NEXT = `
  UPDATE OR FAIL runs SET state = 'ready' WHERE seq =
    (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`;

const RETRY_RUN = `
  UPDATE OR FAIL runs SET state = 'ready', not_before = ?, error = ?, attempts = attempts - ?,
    unavailable_since = ?, waiting_for = ?
  WHERE id = ? AND claims = ? AND state = 'running'
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
  WHERE state = 'held' AND hold_reason NOT IN (?5, ?6) AND (?1 IS NULL OR hold_reason = ?1)
    AND (?3 IS NULL OR id IN (SELECT value FROM json_each(?3))) AND (?4 IS NULL OR session_key = ?4) RETURNING seq`;

/* A heartbeat is never queued: its run is recorded when it has ended. Recording it again changes nothing. */

export function completeHeartbeat(
  transaction: Transaction,
  { consumedSeqs, ...run }: { id: string; startedAt: number; consumedSeqs: number[] },
  outcome: TurnOutcome,
): boolean {
  const runSeq = insertHeartbeat(transaction, { ...run, ...toEnd(outcome) });
  if (runSeq === undefined) return false;
  recordSpend(transaction, undefined, outcome);
  insertEntries(transaction, outcome.entries, { runSeq });
  insertDeliveries(transaction, outcome.deliveries, outcome.finishedAt);
  insertApprovals(transaction, outcome.questions ?? []);
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
  INSERT INTO runs (seq, id, kind, mapping, session_key, state, attempts, claims, created_at, due_at, started_at,
    finished_at, error, outcome)
  VALUES (?1, ?2, 'heartbeat', '', '${MAIN_SESSION}', ?3, 1, 0, ?4, ?4, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`;

function toEnd(outcome: TurnOutcome): End {
  return { state: "done", finishedAt: outcome.finishedAt, outcome: fromOutcome(outcome) };
}
