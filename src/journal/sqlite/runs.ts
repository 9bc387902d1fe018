import { MAIN_SESSION, RUN_STATES, type RunState } from "../../types.ts";
import { type Claim, type Lease, type NewEntry, type Run, RUN_KINDS, type TurnOutcome } from "../records.ts";
import { MAX_JOINED_MESSAGES, updateEventCounts } from "./accept.ts";
import { reportDeadLetter, reportRun } from "./changes.ts";
import { type Database, integer, oneOf, optional, type SqlRow, text } from "./database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { consumeSystemEvents, insertEntries } from "./entries.ts";
import type { Transaction } from "./group-commit.ts";
import { isLeaseHeld } from "./leases.ts";
import { recordSpend } from "./spend.ts";

export function completeRun(transaction: Transaction, claim: Claim, outcome: TurnOutcome): boolean {
  const run = endRun(transaction, claim, toEnd(outcome));
  if (!run) return false;
  recordSpend(transaction, run, outcome);
  insertEntries(transaction, outcome.entries);
  insertDeliveries(transaction, outcome.deliveries, outcome.finishedAt);
  // After its deliveries, which keep the event open.
  updateEventCounts(transaction, run, { open: -1, lost: 0 });
  reportRun(transaction, run, "done");
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
  reportRun(transaction, run, "dead");
  reportDeadLetter(transaction, claim.id, { isDead: true, row: run });
  return true;
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
  for (const row of released) reportRun(transaction, row, "ready");
  return released.length;
}

/** False without a row: the claim is lost. */
function reportState(transaction: Transaction, row: SqlRow | undefined, state: RunState): boolean {
  if (row) reportRun(transaction, row, state);
  return row !== undefined;
}

interface End {
  state: "done" | "dead";
  finishedAt: number;
  error?: string;
  outcome?: string;
}

/** Ends a claimed run and makes the next of its session ready. Undefined if the claim is lost. */
function endRun(transaction: Transaction, { id, token }: Claim, end: End): SqlRow | undefined {
  const row = transaction.get(END_RUN, end.state, end.finishedAt, end.error, end.outcome, id, token);
  if (row && transaction.run(PROMOTE_NEXT, text(row.session_key)) > 0) transaction.announce("run");
  return row;
}

const END_RUN = `
  UPDATE runs SET state = ?, finished_at = ?, error = ?, outcome = ? WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING id AS run_id, event_id, session_key, hook, mapping`;

const PROMOTE_NEXT = `
  UPDATE runs SET state = 'ready' WHERE seq =
    (SELECT seq FROM runs WHERE session_key = ? AND finished_at IS NULL ORDER BY seq LIMIT 1)`;

const RETRY_RUN = `
  UPDATE runs SET state = 'ready', due_at = ?, error = ? WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING id AS run_id, event_id`;

const RELEASE_RUN = `
  UPDATE runs SET state = 'ready', attempts = attempts - 1 WHERE id = ? AND claims = ? AND state = 'running'
  RETURNING id AS run_id, event_id`;

const HOLD_RUN = `
  UPDATE runs SET state = 'held', hold_reason = ?, attempts = attempts - 1
  WHERE id = ? AND claims = ? AND state = 'running' RETURNING id AS run_id, event_id`;

const RELEASE_HELD = `
  UPDATE runs SET state = 'ready', hold_reason = iif(?2, hold_reason, NULL)
  WHERE state = 'held' AND (?1 IS NULL OR hold_reason = ?1) RETURNING id AS run_id, event_id`;

/* A heartbeat is never queued: its run is recorded when it has ended. Recording it again changes nothing. */

export function completeHeartbeat(
  transaction: Transaction,
  { lease, consumedSeqs, ...run }: { id: string; startedAt: number; consumedSeqs: number[]; lease: Lease },
  outcome: TurnOutcome,
): boolean {
  if (!isLeaseHeld(transaction, lease)) return false;
  if (!insertHeartbeat(transaction, { ...run, ...toEnd(outcome) })) return false;
  recordSpend(transaction, undefined, outcome);
  insertEntries(transaction, outcome.entries);
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

/** False if the heartbeat was recorded before. */
function insertHeartbeat(transaction: Transaction, run: End & { id: string; startedAt: number }): boolean {
  const { id, state, startedAt, finishedAt, error, outcome } = run;
  const isNew = transaction.run(INSERT_HEARTBEAT, id, state, startedAt, finishedAt, error, outcome) > 0;
  if (isNew) transaction.report({ kind: "run", id, state });
  return isNew;
}

const INSERT_HEARTBEAT = `
  INSERT INTO runs (id, kind, session_key, state, attempts, created_at, due_at, started_at, finished_at, error, outcome)
  VALUES (?1, 'heartbeat', '${MAIN_SESSION}', ?2, 1, ?3, ?3, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`;

/** The `outcome` column: what is only read whole. */
type Outcome = Pick<Run, "reply" | "model" | "usage" | "cost" | "warnings">;

function toEnd({ finishedAt, reply, model, usage, cost, warnings }: TurnOutcome): End {
  const outcome = JSON.stringify({ reply, model, usage, cost, warnings } satisfies Outcome);
  return { state: "done", finishedAt, outcome };
}

/** Rows for `toRun`. */
export const SELECT_RUNS = "SELECT runs.*, action FROM runs LEFT JOIN run_actions ON run_seq = seq";

export function toRun(row: SqlRow): Run {
  const outcome: Outcome = row.outcome === null ? { warnings: [] } : JSON.parse(text(row.outcome));
  return {
    id: text(row.id),
    kind: oneOf(RUN_KINDS, row.kind),
    eventId: optional(text, row.event_id),
    hook: optional(text, row.hook),
    sessionKey: text(row.session_key),
    action: row.action === null ? undefined : JSON.parse(text(row.action)),
    state: oneOf(RUN_STATES, row.state),
    holdReason: row.state === "held" ? optional(text, row.hold_reason) : undefined,
    attempts: integer(row.attempts),
    createdAt: integer(row.created_at),
    dueAt: integer(row.due_at),
    startedAt: optional(integer, row.started_at),
    finishedAt: optional(integer, row.finished_at),
    error: optional(text, row.error),
    ...outcome,
  };
}

/** With the messages that joined it. */
export function toWholeRun(database: Database, row: SqlRow): Run {
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
