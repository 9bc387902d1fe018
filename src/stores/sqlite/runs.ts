import { MAX_JOINED_MESSAGES, type NewRun, toAccessText } from "../../core/journal/plan.ts";
import type { NewEvent } from "../../core/journal/records/event.ts";
import { toErrorGroup } from "../../core/journal/error-group.ts";
import { integer, optional, text } from "../../core/journal/columns.ts";
import { fromOutcome } from "../../core/journal/rows.ts";
import { insertApprovals } from "../../core/journal/writes/approval-states.ts";
import { addFailedAttempt } from "../../core/journal/writes/failed-attempts.ts";
import { reportsOfEnd, type RunEnd, stepsOfEnd, toUsed } from "../../core/journal/writes/run-end.ts";
import { addSpend } from "../../core/journal/writes/spend.ts";
import { INSERT_ANSWER, toStepRow } from "../../core/journal/writes/step-rows.ts";
import { statementsOf } from "./read.ts";
import { report, type Transaction } from "./group-commit.ts";
import type { Database } from "./database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { insertEntry } from "./entries.ts";
import { updateRunCounts } from "./counters.ts";
import { createWriter, finish } from "./writer.ts";
import { senderOf } from "../../core/types.ts";

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
  const own = [seq, runId, eventSeq, mapping, action.sessionKey, window?.key, receivedAt, window?.closesAt];
  transaction.run(INSERT_RUN, ...own, senderOf(event.credential));
  transaction.run("INSERT OR FAIL INTO run_actions (run_seq, action) VALUES (?, ?)", seq, JSON.stringify(action));
  transaction.counters.add({ runs: 1 });
  transaction.announce("run");
}

const INSERT_RUN = `
  INSERT OR FAIL INTO runs (seq, id, kind, event_seq, mapping, session_key, coalesce_key, state, attempts, claims,
    created_at, due_at, not_before, sender)
  VALUES (?1, ?2, 'hook', ?3, ?4, ?5, ?6,
    iif(EXISTS (SELECT 1 FROM runs WHERE session_key = ?5 AND finished_at IS NULL), 'queued', 'ready'), 0, 0, ?7, ?7, ?8, ?9)`;

export function insertJoined(database: Database, eventSeq: number, { runId, action }: NewRun): void {
  database.run(INSERT_JOINED, runId, eventSeq, action.message, toAccessText(action));
}

const INSERT_JOINED = `
  INSERT OR FAIL INTO joined_events (run_seq, place, event_seq, message, access)
  SELECT seq, place, ?2, iif(place <= ${MAX_JOINED_MESSAGES}, ?3, NULL), ?4 FROM (
    SELECT seq, 1 + (SELECT coalesce(max(place), 0) FROM joined_events WHERE run_seq = seq) AS place
    FROM runs WHERE id = ?1)`;

/**
 * Ends a claimed run with everything that it produced, and makes the next of its session ready. False if the claim is lost.
 */
export function endRun(transaction: Transaction, end: RunEnd): boolean {
  const { claim, state, finishedAt, error, warnings, outcome, entries, deliveries } = end;
  const row = transaction.get(FIND_CLAIMED, claim.id, claim.token);
  if (!row) return false;
  const [seq, eventSeq] = [integer(row.seq), integer(row.event_seq)];
  const group = error === undefined ? undefined : toErrorGroup(error);
  transaction.run(END_RUN, state, finishedAt, error, group, outcome && fromOutcome(outcome), seq);
  transaction.counters.add({ runs: -1 });
  if (transaction.run(PROMOTE_NEXT, text(row.session_key)) > 0) transaction.announce("run");
  const statements = statementsOf(transaction);
  if (error !== undefined) addFailedAttempt(statements, "runs", claim.id, { at: finishedAt, error, warnings });
  for (const entry of entries) insertEntry(transaction, entry, { eventSeq, runSeq: seq });
  if (outcome) finish(addSpend(statements, toUsed(outcome), row));
  for (const step of stepsOfEnd(end)) statements.withCommit(INSERT_ANSWER, toStepRow(claim.id, step));
  insertDeliveries(transaction, deliveries, finishedAt);
  if (outcome?.questions) finish(insertApprovals(createWriter(transaction), outcome.questions));
  updateRunCounts(transaction, { seq, eventSeq }, { open: deliveries.length - 1, dead: state === "dead" ? 1 : 0 });
  for (const each of reportsOfEnd(end, optional(text, row.event_id ?? null))) report(transaction, each);
  return true;
}

/** With what its spend is counted by. */
const FIND_CLAIMED = `
  SELECT runs.seq, event_seq, events.id AS event_id, session_key, mapping, hook FROM runs
  LEFT JOIN events ON events.seq = event_seq
  WHERE runs.id = ? AND claims = ? AND state = 'running'`;

const END_RUN =
  "UPDATE OR FAIL runs SET state = ?, finished_at = ?, error = ?, error_group = ?, outcome = ? WHERE seq = ?";

const PROMOTE_NEXT = `
  UPDATE OR FAIL runs SET state = 'ready' WHERE seq =
    (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`;
