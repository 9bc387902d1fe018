import { isId } from "../../shared/id.ts";
import { QUESTION_HOLDS } from "../../types.ts";
import { type ApprovalUse, RUN_CANCELED } from "../records/approval.ts";
import type { Claim, Lease } from "../records/node.ts";
import type { GiveBack, HeldFilter, Questions, TurnOutcome } from "../records/run.ts";
import type { NewEntry } from "../records/session.ts";
import type { Step } from "../records/step.ts";
import { optional, type Row, text } from "../columns.ts";
import { fromOutcome, isFinished, toUnknownStep } from "../rows.ts";
import {
  insertApprovals,
  isAnswered,
  locksOf,
  questionsLock,
  useApprovals,
  withdrawApprovals,
} from "./approval-states.ts";
import { addFailedAttempt } from "./failed-attempts.ts";
import { addSpend } from "./spend.ts";
import { insertSteps } from "./step-rows.ts";
import { toSurvived } from "./suspect-states.ts";
import { recipientLock, reportRun, sessionLock, toRunReport, windowLock, type Work, type Writer } from "./writer.ts";

// oxlint-disable-next-line eslint/max-params -- The port has them.
export function retryRun(
  writer: Writer,
  claim: Claim,
  notBefore: number,
  error: string,
  warnings?: readonly string[],
): Work<boolean> {
  return postpone(writer, claim, notBefore, { error, warnings, uncounted: 0 });
}

export function giveBackRun(writer: Writer, claim: Claim, notBefore: number, reason: GiveBack): Work<boolean> {
  return postpone(writer, claim, notBefore, { ...reason, uncounted: 1 });
}

function postpone(
  writer: Writer,
  claim: Claim,
  notBefore: number,
  { error, warnings, uncounted, unavailableSince, waitingFor }: GiveBack & { uncounted: 0 | 1 },
): Work<boolean> {
  writer.announce("run");
  const set = `not_before = $3, error = $4, ${toSurvived("$5::integer")}, unavailable_since = $6::bigint,
    waiting_for = $7::text`;
  const [until, since] = [notBefore, unavailableSince].map((at) => at && Math.ceil(at) + writer.clockOffsetMs);
  const values = [until, error, uncounted, since, waitingFor];
  return leaveRun(writer, claim, { state: "ready", set, failedWith: { error, warnings } }, values);
}

export function releaseRun(writer: Writer, claim: Claim): Work<boolean> {
  writer.announce("run");
  return leaveRun(writer, claim, { state: "ready", set: "attempts = attempts - 1" }, []);
}

export function holdRun(writer: Writer, claim: Claim, reason: string, questions?: Questions): Work<boolean> {
  if (questions) return holdForQuestions(writer, claim, reason, questions);
  return leaveRun(writer, claim, { state: "held", set: `hold_reason = $3, ${toSurvived("1")}` }, [reason]);
}

/** Changes a run that stays the first of its session. At a repetition, the earlier attempt has kept its failure already. */
function* leaveRun(
  writer: Writer,
  { id, token }: Claim,
  {
    state,
    set,
    failedWith,
  }: { state: "ready" | "held"; set: string; failedWith?: Pick<GiveBack, "error" | "warnings"> },
  values: (string | number | undefined)[],
): Work<boolean> {
  const update = `UPDATE hookline.runs SET state = '${state}', ${set} WHERE id = $1 AND claims = $2 AND state = 'running'`;
  if ((yield* writer.run(update, [id, token, ...values])) === 0) return yield* wasLeft(writer, { id, token });
  if (failedWith) addFailedAttempt(writer, "runs", id, { at: Date.now(), ...failedWith });
  yield* reportRun(writer, id, state);
  return true;
}

/** By the earlier attempt: nobody has claimed it since. */
function* wasLeft({ get, isRepeated }: Writer, { id, token }: Claim): Work<boolean> {
  const since = "SELECT 1 FROM hookline.runs WHERE id = $1 AND claims = $2 AND state IN ('ready', 'held')";
  return isRepeated && (yield* get(since, [id, token])) !== undefined;
}

const LOCK_CLAIMED = "id = $1 AND claims = $2 AND state = 'running' FOR UPDATE";

export function* recordSteps(
  writer: Writer,
  { id, token }: Claim,
  steps: Step[],
  uses: ApprovalUse[] = [],
): Work<boolean> {
  const claimed = `SELECT id, session_key, hook, mapping, event_id FROM ${writer.tables.runs} WHERE ${LOCK_CLAIMED}`;
  const run = yield* writer.get(claimed, [id, token]);
  if (!run || (yield* isAnswered(writer, id, steps))) return false;
  if (!(yield* useApprovals(writer, id, uses))) return false;
  // At a repetition, the earlier attempt may have recorded them with what they used.
  const answers = yield* insertSteps(writer, id, steps);
  for (const { usage, cost, model, startedAt, finishedAt = startedAt } of answers) {
    yield* addSpend(writer, { usage, cost, model, finishedAt, runs: 0 }, run);
  }
  if (steps.some(isFinished)) writer.withCommit(PROGRESSED, [id]);
  yield* writer.report([toRunReport(run, "running")]);
  return true;
}

/** Most rows have nothing to change. */
const PROGRESSED = `
  UPDATE hookline.runs SET attempts = 1, interruptions = 0, interrupted_at = NULL
  WHERE id = $1 AND (attempts, interruptions) <> (1, 0)`;

/** Asks and holds. The run is ready instead if a question has ended already, or is not opened. */
function* holdForQuestions(
  writer: Writer,
  { id, token }: Claim,
  reason: string,
  { steps, asked, open }: Questions,
): Work<boolean> {
  yield* writer.lock([questionsLock(id), ...locksOf(asked)]);
  const claimed = yield* writer.get(`SELECT 1 FROM hookline.runs WHERE ${LOCK_CLAIMED}`, [id, token]);
  if (!claimed) return yield* wasLeft(writer, { id, token });
  yield* insertSteps(writer, id, steps);
  const areNewOpen = yield* insertApprovals(writer, asked);
  const areOpen = "SELECT 1 FROM hookline.approvals WHERE id = ANY($1::uuid[]) AND state = 'open'";
  const stillOpen = yield* writer.all(areOpen, [open]);
  const state = areNewOpen && stillOpen.length === open.length ? "held" : "ready";
  const hold = `UPDATE hookline.runs SET state = $2, hold_reason = $3, ${toSurvived("1")} WHERE id = $1`;
  yield* writer.run(hold, [id, state, reason]);
  if (state === "ready") writer.announce("run");
  yield* reportRun(writer, id, state);
  return true;
}

/** Each is the first of its session, and was due when it was claimed. */
export function* releaseHeld(
  writer: Writer,
  { reason, runs, sessionKey, forGood = false }: HeldFilter & { forGood?: boolean } = {},
): Work<number> {
  const values = [reason, forGood, runs?.filter(isId), sessionKey, Object.values(QUESTION_HOLDS)];
  return yield* announceReady(writer, yield* writer.all(RELEASE_HELD, values));
}

export function* tryAgain(writer: Writer, provider: string): Work<number> {
  return yield* announceReady(writer, yield* writer.all(TRY_AGAIN, [provider]));
}

const TRY_AGAIN = `
  UPDATE hookline.runs SET not_before = NULL WHERE state = 'ready' AND waiting_for = $1 AND not_before IS NOT NULL RETURNING id`;

function* announceReady(writer: Writer, runs: Row[]): Work<number> {
  if (runs.length === 0) return 0;
  writer.announce("run");
  if (yield* writer.isWatched()) {
    const find = `SELECT id, event_id FROM ${writer.tables.runs} WHERE id = ANY($1::uuid[])`;
    const rows = yield* writer.all(find, [runs.map(({ id }) => text(id))]);
    yield* writer.report(rows.map((row) => toRunReport(row, "ready")));
  }
  return runs.length;
}

const RELEASE_HELD = `
  UPDATE hookline.runs SET state = 'ready', hold_reason = CASE WHEN $2 THEN hold_reason END
  WHERE state = 'held' AND hold_reason <> ALL($5::text[]) AND ($1::text IS NULL OR hold_reason = $1)
    AND ($3::uuid[] IS NULL OR id = ANY($3::uuid[])) AND ($4::text IS NULL OR session_key = $4) RETURNING id`;

export function* cancelRun(
  writer: Writer,
  id: string,
  { finishedAt, error, entries }: { finishedAt: number; error: string; entries: NewEntry[] },
): Work<boolean> {
  if (!isId(id)) return false;
  const { get, all, run, tables } = writer;
  const find = `SELECT session_key, coalesce_key, event_id FROM ${tables.runs} WHERE id = $1 AND kind = 'hook'`;
  const found = yield* get(find, [id]);
  if (!found) return false;
  const [sessionKey, eventId] = [text(found.session_key), optional(text, found.event_id ?? null)];
  // Nothing joins it meanwhile.
  const windows = found.coalesce_key ? [windowLock(text(found.coalesce_key))] : [];
  yield* writer.lock([sessionLock(sessionKey), ...windows]);
  const before = yield* get("SELECT state FROM hookline.runs WHERE id = $1 AND finished_at IS NULL FOR UPDATE", [id]);
  // The earlier attempt has canceled it.
  if (!before) return writer.isRepeated && (yield* get(WAS_CANCELED, [id, finishedAt])) !== undefined;
  yield* run(CANCEL_RUN, [id, finishedAt, error]);
  const started = yield* all("SELECT detail FROM hookline.steps WHERE run_id = $1 AND state = 'started'", [id]);
  yield* insertSteps(
    writer,
    id,
    started.map((step) => toUnknownStep(step, finishedAt)),
  );
  yield* writer.insertEntries(entries);
  yield* withdrawApprovals(writer, { runId: id }, RUN_CANCELED);
  writer.addToTotals({ runs: -1 });
  writer.count({ runId: id, eventId }, { open: -1, dead: 0, canceled: 1 });
  // A queued run is not the one that the others of its session wait for.
  if (before.state !== "queued" && (yield* run(PROMOTE_NEXT, [sessionKey])) > 0) writer.announce("run");
  if (before.state === "running") writer.announce("cancel");
  yield* writer.report([{ kind: "run", id, eventId, state: "canceled" }]);
  return true;
}

/** Another token makes the last claim void. */
const CANCEL_RUN = `
  UPDATE hookline.runs SET state = 'canceled', claims = 0, coalesce_key = NULL, not_before = NULL, hold_reason = NULL,
    finished_at = $2, error = $3 WHERE id = $1`;

const WAS_CANCELED = "SELECT 1 FROM hookline.runs WHERE id = $1 AND state = 'canceled' AND finished_at = $2";

const PROMOTE_NEXT = `
  UPDATE hookline.runs SET state = 'ready' WHERE state = 'queued' AND id =
    (SELECT id FROM hookline.runs WHERE session_key = $1 AND finished_at IS NULL ORDER BY seq LIMIT 1)`;

/* A heartbeat is never queued: its run is recorded when it has ended. Recording it again changes nothing. */

export function* completeHeartbeat(
  writer: Writer,
  { id, startedAt, consumedSeqs, lease }: { id: string; startedAt: number; consumedSeqs: number[]; lease: Lease },
  outcome: TurnOutcome,
): Work<boolean> {
  const { finishedAt, entries, deliveries, questions = [] } = outcome;
  yield* writer.lock([...deliveries.map(recipientLock), ...locksOf(questions)]);
  if (!(yield* writer.holdsLease(lease))) return false;
  const end = { id, startedAt, state: "done", finishedAt, outcome: fromOutcome(outcome) } as const;
  // At a repetition the earlier attempt has recorded all of it.
  if (!(yield* writer.insertHeartbeat(end))) return writer.isRepeated;
  yield* addSpend(writer, outcome);
  yield* writer.insertEntries(entries);
  yield* writer.insertDeliveries(deliveries, finishedAt);
  for (const { runId, eventId } of deliveries) writer.count({ runId, eventId }, { open: 1, dead: 0 });
  yield* insertApprovals(writer, questions);
  const consume = "UPDATE hookline.entries SET pending = 0 WHERE seq = ANY($1::bigint[]) AND pending = 1";
  writer.addToTotals({ systemEvents: -(yield* writer.run(consume, [consumedSeqs])) });
  return true;
}

export function* failHeartbeat(
  writer: Writer,
  run: { id: string; startedAt: number; finishedAt: number; error: string },
): Work<void> {
  yield* writer.insertHeartbeat({ ...run, state: "dead" });
}
