import { type AgentAction, MAIN_SESSION, RUN_STATES } from "../../types.ts";
import type { Claim, CoalesceWindow, Lease, NewEntry, TurnOutcome } from "../journal.ts";
import { releaseWindow } from "./coalesce.ts";
import { integer, oneOf, optional, type SqlRow, type SqlValue, text } from "./database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { consumeSystemEvents, insertEntries } from "./entries.ts";
import { updateEventCounts } from "./event-states.ts";
import type { Transaction } from "./group-commit.ts";
import { isLeaseHeld } from "./leases.ts";
import { toOutcome } from "./rows.ts";

/*
 * The oldest unfinished run of a session is ready or running. The others are queued, so that a claim never looks at
 * them.
 */

export function insertRun(
  transaction: Transaction,
  event: { id: string; hook: string; mapping?: string; receivedAt: number },
  { runId, action, window }: { runId: string; action: AgentAction; window?: CoalesceWindow },
): void {
  if (window) releaseWindow(transaction, window);
  const { id, hook, mapping = "", receivedAt } = event;
  const { key, closesAt = receivedAt } = window ?? {};
  const row = changeRun(
    transaction,
    INSERT_RUN,
    runId,
    id,
    hook,
    mapping,
    action.sessionKey,
    key,
    receivedAt,
    closesAt,
  );
  const seq = integer(row?.seq);
  transaction.run("INSERT INTO run_actions (run_seq, action) VALUES (?, ?)", seq, JSON.stringify(action));
}

export function completeRun(transaction: Transaction, claim: Claim, outcome: TurnOutcome): boolean {
  const { finishedAt, entries, deliveries } = outcome;
  const run = endRun(transaction, claim, { state: "done", finishedAt, outcome: toOutcome(outcome) });
  if (!run) return false;
  insertEntries(transaction, entries);
  insertDeliveries(transaction, deliveries, finishedAt);
  // After its deliveries, which keep the event open.
  updateEventCounts(transaction, run, { open: -1, lost: 0 });
  return true;
}

export function deadLetterRun(
  transaction: Transaction,
  claim: Claim,
  { finishedAt, error, entries }: { finishedAt: number; error: string; entries: NewEntry[] },
): boolean {
  const run = endRun(transaction, claim, { state: "dead", finishedAt, error });
  if (!run) return false;
  insertEntries(transaction, entries);
  updateEventCounts(transaction, run, { open: -1, lost: 1 });
  return true;
}

export function retryRun(transaction: Transaction, { id, token }: Claim, dueAt: number, error: string): boolean {
  return changeRun(transaction, RETRY_RUN, Math.ceil(dueAt), error, id, token) !== undefined;
}

export function releaseRun(transaction: Transaction, { id, token }: Claim): boolean {
  return changeRun(transaction, RELEASE_RUN, id, token) !== undefined;
}

/** Gives a dead run of a hook all its attempts again, behind what its session has in progress. False if there is none. */
export function requeueRun(transaction: Transaction, runId: string, now: number): boolean {
  const row = changeRun(transaction, REQUEUE_RUN, runId, now);
  if (!row) return false;
  updateEventCounts(transaction, toOwner(row), { open: 1, lost: -1 });
  return true;
}

/** Drops a dead run of a hook. False if there is none. */
export function dropRun(transaction: Transaction, runId: string): boolean {
  const row = changeRun(transaction, DROP_RUN, runId);
  if (!row) return false;
  updateEventCounts(transaction, toOwner(row), { open: 0, lost: -1 });
  return true;
}

interface End {
  state: "done" | "dead";
  finishedAt: number;
  error?: string;
  outcome?: string;
}

/** Ends a claimed run and makes the next of its session ready. Undefined if the claim is lost. */
function endRun(transaction: Transaction, { id, token }: Claim, end: End): Owner | undefined {
  const { state, finishedAt, error, outcome } = end;
  const row = changeRun(transaction, END_RUN, state, finishedAt, error, outcome, id, token);
  if (!row) return undefined;
  changeRun(transaction, PROMOTE_NEXT, text(row.session_key));
  return toOwner(row);
}

const INSERT_RUN = `
  INSERT OR FAIL INTO runs (id, kind, event_id, hook, mapping, session_key, coalesce_key, state, attempts, created_at, due_at)
  VALUES (?1, 'hook', ?2, ?3, ?4, ?5, ?6,
    iif(EXISTS (SELECT 1 FROM runs WHERE session_key = ?5 AND finished_at IS NULL), 'queued', 'ready'), 0, ?7, ?8)
  RETURNING seq, id, state`;

const END_RUN = `
  UPDATE runs SET state = ?, finished_at = ?, error = ?, outcome = ? WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING seq, id, state, event_id, session_key`;

const PROMOTE_NEXT = `
  UPDATE runs SET state = 'ready' WHERE seq =
    (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)
  RETURNING seq, id, state`;

const RETRY_RUN = `
  UPDATE runs SET state = 'ready', due_at = ?, error = ? WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING seq, id, state`;

const RELEASE_RUN = `
  UPDATE runs SET state = 'ready', attempts = attempts - 1 WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING seq, id, state`;

const REQUEUE_RUN = `
  UPDATE runs SET attempts = 0, due_at = ?2, started_at = NULL, finished_at = NULL, error = NULL,
    state = iif(EXISTS (SELECT 1 FROM runs AS other
      WHERE other.session_key = runs.session_key AND other.finished_at IS NULL), 'queued', 'ready')
  WHERE id = ?1 AND state = 'dead' AND kind = 'hook' RETURNING seq, id, state, event_id`;

const DROP_RUN = `
  UPDATE runs SET state = 'dropped' WHERE id = ? AND state = 'dead' AND kind = 'hook'
  RETURNING seq, id, state, event_id`;

/* A heartbeat is never queued: its run is recorded when it has ended. Recording it again changes nothing. */

export function completeHeartbeat(
  transaction: Transaction,
  { lease, consumedSeqs, ...run }: { id: string; startedAt: number; consumedSeqs: number[]; lease: Lease },
  outcome: TurnOutcome,
): boolean {
  if (!isLeaseHeld(transaction, lease)) return false;
  const { finishedAt, entries, deliveries } = outcome;
  const added = insertHeartbeat(transaction, { ...run, state: "done", finishedAt, outcome: toOutcome(outcome) });
  if (!added) return false;
  insertEntries(transaction, entries);
  insertDeliveries(transaction, deliveries, finishedAt);
  consumeSystemEvents(transaction, consumedSeqs);
  return true;
}

export function failHeartbeat(
  transaction: Transaction,
  run: { id: string; startedAt: number; finishedAt: number; error: string },
): void {
  insertHeartbeat(transaction, { ...run, state: "dead" });
}

/** False if the heartbeat was recorded before. */
function insertHeartbeat(transaction: Transaction, run: End & { id: string; startedAt: number }): boolean {
  const { id, state, startedAt, finishedAt, error, outcome } = run;
  return changeRun(transaction, INSERT_HEARTBEAT, id, state, startedAt, finishedAt, error, outcome) !== undefined;
}

const INSERT_HEARTBEAT = `
  INSERT INTO runs (id, kind, session_key, state, attempts, created_at, due_at, started_at, finished_at, error, outcome)
  VALUES (?1, 'heartbeat', '${MAIN_SESSION}', ?2, 1, ?3, ?3, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING
  RETURNING seq, id, state`;

interface Owner {
  eventId: string | undefined;
  runId: string;
}

function toOwner(row: SqlRow): Owner {
  return { eventId: optional(text, row.event_id), runId: text(row.id) };
}

/** Executes a statement that returns `seq`, `id` and `state` of the one run that it adds or changes, if any. */
function changeRun({ get, changed }: Transaction, sql: string, ...values: SqlValue[]): SqlRow | undefined {
  const row = get(sql, ...values);
  if (row) changed({ kind: "run", seq: integer(row.seq), id: text(row.id), state: oneOf(RUN_STATES, row.state) });
  return row;
}
