import { MAIN_SESSION, QUESTION_HOLDS } from "../../types.ts";
import { isId } from "../../shared/id.ts";
import type { Claim, GiveBack, HeldFilter, Lease, NewDelivery, NewEntry, Questions, TurnOutcome } from "../journal.ts";
import { toErrorGroup } from "../error-group.ts";
import { fromOutcome, integer, optional, text } from "../rows.ts";
import { addEntries } from "./entries.ts";
import { addFailedAttempt } from "./failed-attempts.ts";
import { holdForQuestions, insertApprovals, locksOf } from "./approvals.ts";
import { addSpend, addToCounts, updateEventCounts } from "./counters.ts";
import { addDeliveries, reportsOfDeliveries } from "./deliveries.ts";
import { isLeaseHeld } from "./leases.ts";
import { addSteps } from "./steps.ts";
import {
  Batch,
  lock,
  recipientLock,
  type ChangeReport,
  reportAll,
  sessionLock,
  toPostgresText,
  type Transaction,
} from "./transaction.ts";

/** The end of a claimed run, with everything that it produced. */
export interface RunEnd {
  claim: Claim;
  state: "done" | "dead";
  finishedAt: number;
  error?: string;
  outcome?: TurnOutcome;
  entries: NewEntry[];
  deliveries: NewDelivery[];
}

/** Ends a run whose reply a person must see first. */
export async function completeAsking(transaction: Transaction, claim: Claim, outcome: TurnOutcome): Promise<boolean> {
  const { questions = [] } = outcome;
  const [isRecorded = false] = await endRuns(transaction, [toCompletion(claim, outcome)], locksOf(questions));
  // At a repetition the earlier attempt has recorded them.
  const isKnown = await transaction.get("SELECT 1 FROM hookline.approvals WHERE id = $1", [questions[0]?.id]);
  if (isRecorded && !isKnown) await insertApprovals(transaction, questions);
  return isRecorded;
}

export function toCompletion(claim: Claim, outcome: TurnOutcome): RunEnd {
  const { finishedAt, entries, deliveries } = outcome;
  return { claim, state: "done", finishedAt, outcome, entries, deliveries };
}

/** Ends runs, and makes the next of their sessions ready. False for each whose claim is lost. */
export async function endRuns(transaction: Transaction, ends: RunEnd[], moreLocks: string[] = []): Promise<boolean[]> {
  const { withBegin, isRepeated } = transaction;
  const ids = ends.map(({ claim }) => claim.id);
  const rows = await withBegin.all("SELECT session_key FROM hookline.runs WHERE id = ANY($1::uuid[])", [ids]);
  const recipients = ends.flatMap(({ deliveries }) => deliveries.map(recipientLock));
  const locks = [...rows.map((row) => sessionLock(text(row.session_key))), ...recipients, ...moreLocks];
  const batch = toBatch(ends, transaction.clockOffsetMs);
  if (ends.some(({ deliveries }) => deliveries.length > 0)) transaction.announce("delivery");
  if (ends.some(({ entries }) => entries.some(({ urgent }) => urgent))) transaction.announce("heartbeat");
  const [, row] = await Promise.all([lock(transaction, locks), batch.run(transaction, ENDED)]);
  const events: Record<string, string | null> = JSON.parse(text(row?.ended));
  if (integer(row?.promoted) > 0) transaction.announce("run");
  for (const { claim, state, finishedAt: at, error = "" } of ends) {
    if (state === "dead" && claim.id in events) addFailedAttempt(transaction, "runs", claim.id, { at, error });
  }
  const results = ends.map(({ claim }) => claim.id in events);
  await reportAll(
    transaction,
    ends.filter(({ claim }) => claim.id in events).flatMap((end) => reportsOf(end, events[end.claim.id] ?? undefined)),
  );
  if (isRepeated) await recognize(transaction, ends, results);
  return results;
}

/** The earlier attempt may have ended it. */
async function recognize({ all }: Transaction, ends: RunEnd[], results: boolean[]): Promise<void> {
  const ids = ends.map(({ claim }) => claim.id);
  const rows = await all("SELECT id, claims, state FROM hookline.runs WHERE id = ANY($1::uuid[])", [ids]);
  const runs = new Map(rows.map((row) => [text(row.id), row]));
  for (const [index, { claim, state }] of ends.entries()) {
    const run = runs.get(claim.id);
    results[index] ||= run?.claims === claim.token && run.state === state;
  }
}

const ENDED = `(SELECT count(*) FROM promoted) AS promoted,
  (SELECT coalesce(json_object_agg(id, event_id), '{}')::text FROM ended) AS ended`;

const OF_ENDED = (column: string): string => `${column} = ANY(ARRAY(SELECT id FROM ended))`;

/** What does not belong to a run that it ends is left out. The sessions come last: other nodes wait for the main session. */
function toBatch(ends: RunEnd[], clockOffsetMs: number): Batch {
  const batch = new Batch();
  const rows = ends.map(({ claim, state, finishedAt, error, outcome, deliveries: { length } }) => ({
    id: claim.id,
    token: claim.token,
    state,
    finished_at: finishedAt,
    error,
    error_group: error === undefined ? undefined : toErrorGroup(error),
    outcome: outcome && fromOutcome(outcome),
    open: length - 1,
    dead: state === "dead" ? 1 : 0,
  }));
  const columns = `id uuid, token bigint, state text, finished_at bigint, error text, error_group text, outcome text, open integer,
    dead integer`;
  batch.add("run_end", rows, `SELECT *, 'running' AS claimed FROM json_to_recordset($rows) AS row (${columns})`);
  // With the state as a constant, PostgreSQL reads the index of all running runs.
  batch.addOver(
    "ended",
    `UPDATE hookline.runs SET state = row.state, finished_at = row.finished_at, error = row.error,
       error_group = row.error_group, outcome = row.outcome
     FROM run_end AS row WHERE runs.id = ANY(ARRAY(SELECT id FROM run_end)) AND runs.id = row.id AND runs.claims = row.token
       AND runs.state = row.claimed
     RETURNING runs.id, runs.id AS run_id, event_id, hook, mapping, session_key, row.open, row.dead`,
  );
  batch.addOver(
    "promoted",
    `UPDATE hookline.runs SET state = 'ready' WHERE id = ANY(ARRAY(
       SELECT (SELECT id FROM hookline.runs WHERE runs.session_key = ended.session_key
         AND finished_at IS NULL AND runs.id <> ended.id ORDER BY seq LIMIT 1)
       FROM ended)) RETURNING 1`,
  );
  batch.addOver("change", "SELECT * FROM ended WHERE event_id IS NOT NULL AND (open <> 0 OR dead <> 0)");
  batch.addOver("counted", `${addToCounts("change")} RETURNING 1`);
  addSpend(
    batch,
    ends.flatMap(({ claim, outcome }) => (outcome ? [{ claim: claim.id, used: toUsed(outcome) }] : [])),
    "ended",
  );
  const lastSteps = ends.flatMap(({ claim, outcome }) =>
    outcome?.lastStep ? [{ runId: claim.id, steps: [outcome.lastStep] }] : [],
  );
  addSteps(batch, lastSteps, OF_ENDED("run_id"));
  const deliveries = ends.flatMap((end) => end.deliveries.map((delivery) => ({ delivery, at: end.finishedAt })));
  addDeliveries(batch, deliveries, clockOffsetMs, OF_ENDED("run_id"));
  const entries = ends.flatMap(({ claim, entries: own }) => own.map((entry) => ({ ...entry, claim: claim.id })));
  addEntries(batch, entries, `${OF_ENDED("claim")} AND (SELECT count(*) FROM counted) >= 0`);
  return batch;
}

/** What the steps before the last used is spent already. */
function toUsed(outcome: TurnOutcome): Pick<TurnOutcome, "usage" | "cost" | "model" | "finishedAt"> {
  return { ...(outcome.lastStep ?? outcome), finishedAt: outcome.finishedAt };
}

function reportsOf({ claim: { id }, state, entries, deliveries }: RunEnd, eventId: string | undefined): ChangeReport[] {
  const ended: ChangeReport[] = [{ kind: "run", id, eventId, state }];
  if (state === "dead") ended.push({ kind: "dead-letter", id, eventId, isDead: true });
  return [...reportsOfEntries(entries), ...reportsOfDeliveries(deliveries), ...ended];
}

export function reportsOfEntries(entries: NewEntry[]): ChangeReport[] {
  return entries.map(({ sessionKey }) => ({ kind: "session", key: sessionKey }));
}

export function retryRun(transaction: Transaction, claim: Claim, dueAt: number, error: string): Promise<boolean> {
  transaction.announce("run");
  const set = "not_before = $3, error = $4, unavailable_since = NULL, waiting_for = NULL";
  const values = [Math.ceil(dueAt) + transaction.clockOffsetMs, toPostgresText(error)];
  return postpone(transaction, claim, { set, error }, values);
}

export function giveBackRun(
  transaction: Transaction,
  claim: Claim,
  dueAt: number,
  { error, unavailableSince, waitingFor }: GiveBack,
): Promise<boolean> {
  transaction.announce("run");
  const set =
    "not_before = $3, error = $4, attempts = attempts - 1, unavailable_since = $5::bigint, waiting_for = $6::text";
  const dueHere = Math.ceil(dueAt) + transaction.clockOffsetMs;
  const values = [dueHere, toPostgresText(error), unavailableSince ?? null, waitingFor ?? null];
  return postpone(transaction, claim, { set, error }, values);
}

/** At a repetition, the earlier attempt has kept it already. */
async function postpone(
  transaction: Transaction,
  claim: Claim,
  { set, error }: { set: string; error: string },
  values: (string | number | null)[],
): Promise<boolean> {
  const keep = (): void => addFailedAttempt(transaction, "runs", claim.id, { at: Date.now(), error });
  return leaveRun(transaction, claim, { state: "ready", set, keep }, values);
}

export async function releaseRun(transaction: Transaction, claim: Claim): Promise<boolean> {
  transaction.announce("run");
  return leaveRun(transaction, claim, { state: "ready", set: "attempts = attempts - 1" }, []);
}

export async function holdRun(
  transaction: Transaction,
  claim: Claim,
  reason: string,
  questions?: Questions,
): Promise<boolean> {
  if (questions) return holdForQuestions(transaction, claim, reason, questions);
  const set = "hold_reason = $3, attempts = attempts - 1";
  return leaveRun(transaction, claim, { state: "held", set }, [toPostgresText(reason)]);
}

/** Changes a run that stays the first of its session. */
async function leaveRun(
  transaction: Transaction,
  { id, token }: Claim,
  { state, set, keep }: { state: "ready" | "held"; set: string; keep?(): void },
  values: (string | number | null)[],
): Promise<boolean> {
  const { get, isRepeated } = transaction;
  const row = await get(
    `UPDATE hookline.runs SET state = '${state}', ${set} WHERE id = $1 AND claims = $2 AND state = 'running' RETURNING event_id`,
    [id, token, ...values],
  );
  if (row) {
    keep?.();
    const eventId = optional(text, row.event_id);
    await reportAll(transaction, [{ kind: "run", id, eventId, state }]);
    return true;
  }
  // The earlier attempt: nobody has claimed it since.
  const since = "SELECT 1 FROM hookline.runs WHERE id = $1 AND claims = $2 AND state IN ('ready', 'held')";
  return isRepeated && (await get(since, [id, token])) !== undefined;
}

/** Each is the first of its session, and was due when it was claimed. */
export async function releaseHeld(
  transaction: Transaction,
  { reason, runs, sessionKey, forGood = false }: HeldFilter & { forGood?: boolean } = {},
): Promise<number> {
  const rows = await transaction.all(
    `UPDATE hookline.runs SET state = 'ready', hold_reason = CASE WHEN $2 THEN hold_reason END
     WHERE state = 'held' AND hold_reason <> ALL($5::text[]) AND ($1::text IS NULL OR hold_reason = $1)
       AND ($3::uuid[] IS NULL OR id = ANY($3::uuid[])) AND ($4::text IS NULL OR session_key = $4) RETURNING id, event_id`,
    [
      reason === undefined ? null : toPostgresText(reason),
      forGood,
      runs?.filter(isId) ?? null,
      sessionKey === undefined ? null : toPostgresText(sessionKey),
      Object.values(QUESTION_HOLDS),
    ],
  );
  if (rows.length > 0) transaction.announce("run");
  const released = rows.map((row) => ({ id: text(row.id), eventId: optional(text, row.event_id) }));
  await reportAll(
    transaction,
    released.map((run) => ({ kind: "run", ...run, state: "ready" })),
  );
  return rows.length;
}

/* A heartbeat is never queued: its run is recorded when it has ended. Recording it again changes nothing. */

export async function completeHeartbeat(
  transaction: Transaction,
  { id, startedAt, consumedSeqs, lease }: { id: string; startedAt: number; consumedSeqs: number[]; lease: Lease },
  outcome: TurnOutcome,
): Promise<boolean> {
  const { questions = [] } = outcome;
  await lock(transaction, [...outcome.deliveries.map(recipientLock), ...locksOf(questions)]);
  if (!(await isLeaseHeld(transaction, lease))) return false;
  const end = {
    id,
    startedAt,
    state: "done",
    finishedAt: outcome.finishedAt,
    outcome: fromOutcome(outcome),
  } as const;
  // At a repetition the earlier attempt has recorded all of it.
  if (!(await insertHeartbeat(transaction, end))) return transaction.isRepeated;
  const batch = new Batch();
  addSpend(batch, [{ used: outcome }]);
  addEntries(batch, outcome.entries);
  const deliveries = outcome.deliveries.map((delivery) => ({ delivery, at: outcome.finishedAt }));
  addDeliveries(batch, deliveries, transaction.clockOffsetMs);
  await batch.run(transaction, "1");
  const changes = outcome.deliveries.map(({ eventId, runId }) => ({
    event_id: eventId,
    run_id: runId,
    open: 1,
    dead: 0,
  }));
  for (const change of changes) updateEventCounts(transaction, [change]);
  await insertApprovals(transaction, questions);
  await transaction.run("UPDATE hookline.entries SET pending = 0 WHERE seq = ANY($1::bigint[]) AND pending = 1", [
    consumedSeqs,
  ]);
  await reportAll(transaction, [...reportsOfEntries(outcome.entries), ...reportsOfDeliveries(outcome.deliveries)]);
  if (deliveries.length > 0) transaction.announce("delivery");
  return true;
}

export async function failHeartbeat(
  transaction: Transaction,
  run: { id: string; startedAt: number; finishedAt: number; error: string },
): Promise<void> {
  await insertHeartbeat(transaction, { ...run, state: "dead" });
}

interface HeartbeatEnd {
  id: string;
  startedAt: number;
  finishedAt: number;
  state: "done" | "dead";
  error?: string;
  outcome?: string;
}

/** False if the heartbeat was recorded before. */
async function insertHeartbeat({ run, report }: Transaction, end: HeartbeatEnd): Promise<boolean> {
  const { id, state, startedAt, finishedAt, error, outcome } = end;
  const values = [id, state, startedAt, finishedAt, error && toPostgresText(error), outcome && toPostgresText(outcome)];
  const isNew = (await run(INSERT_HEARTBEAT, values)) > 0;
  if (isNew) report({ kind: "run", id, state });
  return isNew;
}

const INSERT_HEARTBEAT = `
  INSERT INTO hookline.runs (id, kind, session_key, state, attempts, created_at, due_at, started_at, finished_at, error, outcome)
  VALUES ($1, 'heartbeat', '${MAIN_SESSION}', $2, 1, $3, $3, $3, $4, $5, $6) ON CONFLICT DO NOTHING`;
