import { MAX_JOINED_MESSAGES, type NewRun, toAccessText } from "../plan.ts";
import type { NewEvent } from "../records/event.ts";
import type { Claim } from "../records/node.ts";
import type { RunFailure, TurnOutcome } from "../records/run.ts";
import type { NewEntry } from "../records/session.ts";
import { toErrorGroup } from "../error-group.ts";
import { fromOutcome, integer, type Row, text } from "../rows.ts";
import { insertApprovals } from "../writes/approvals.ts";
import { addFailedAttempt } from "../writes/failed-attempts.ts";
import { withCommitOf } from "./read.ts";
import { reportRun, type Transaction } from "./group-commit.ts";
import type { Database } from "./database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { type EntryOrigin, insertEntry } from "./entries.ts";
import { recordSpend, updateRunCounts } from "./counters.ts";
import { insertStep } from "./steps.ts";
import { createWriter, finish } from "./writer.ts";

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

export function insertJoined(database: Database, eventSeq: number, { runId, action }: NewRun): void {
  database.run(INSERT_JOINED, runId, eventSeq, action.message, toAccessText(action));
}

const INSERT_JOINED = `
  INSERT OR FAIL INTO joined_events (run_seq, place, event_seq, message, access)
  SELECT seq, place, ?2, iif(place <= ${MAX_JOINED_MESSAGES}, ?3, NULL), ?4 FROM (
    SELECT seq, 1 + (SELECT coalesce(max(place), 0) FROM joined_events WHERE run_seq = seq) AS place
    FROM runs WHERE id = ?1)`;

export function completeRun(transaction: Transaction, claim: Claim, outcome: TurnOutcome): boolean {
  const { finishedAt } = outcome;
  const run = endRun(transaction, claim, { state: "done", finishedAt, outcome: fromOutcome(outcome) });
  if (!run) return false;
  insertEntries(transaction, outcome.entries, run);
  recordSpend(transaction, run.row, { ...(outcome.lastStep ?? outcome), finishedAt: outcome.finishedAt });
  if (outcome.lastStep) insertStep(transaction, claim.id, outcome.lastStep);
  insertDeliveries(transaction, outcome.deliveries, outcome.finishedAt);
  if (outcome.questions) finish(insertApprovals(createWriter(transaction), outcome.questions));
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
  addFailedAttempt(withCommitOf(transaction), "runs", claim.id, { at: finishedAt, error });
  insertEntries(transaction, entries, run);
  insertDeliveries(transaction, deliveries, finishedAt);
  updateRunCounts(transaction, run, { open: deliveries.length - 1, dead: 1 });
  reportRun(transaction, run.seq, "dead");
  return true;
}

function insertEntries(transaction: Transaction, entries: NewEntry[], origin: EntryOrigin): void {
  for (const entry of entries) insertEntry(transaction, entry, origin);
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
  const row = transaction.get(FIND_CLAIMED, claim.id, claim.token);
  if (!row) return undefined;
  const seq = integer(row.seq);
  const group = end.error === undefined ? undefined : toErrorGroup(end.error);
  transaction.run(END_RUN, end.state, end.finishedAt, end.error, group, end.outcome, seq);
  transaction.counters.add({ runs: -1 });
  // The next of the session can start.
  if (transaction.run(PROMOTE_NEXT, text(row.session_key)) > 0) transaction.announce("run");
  return { seq, runSeq: seq, eventSeq: integer(row.event_seq), row };
}

/** With what its spend is counted by. */
const FIND_CLAIMED = `
  SELECT runs.seq, event_seq, session_key, mapping, hook FROM runs LEFT JOIN events ON events.seq = event_seq
  WHERE runs.id = ? AND claims = ? AND state = 'running'`;

const END_RUN =
  "UPDATE OR FAIL runs SET state = ?, finished_at = ?, error = ?, error_group = ?, outcome = ? WHERE seq = ?";

const PROMOTE_NEXT = `
  UPDATE OR FAIL runs SET state = 'ready' WHERE seq =
    (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`;
