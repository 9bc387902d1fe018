import { createId, isId } from "../../shared/id.ts";
import { type ApprovalState, QUESTION_HOLDS } from "../../types.ts";
import {
  type Approval,
  type ApprovalUse,
  createCode,
  type Decided,
  type DrawnButton,
  KEEP_CODE_MS,
  MAX_OPEN,
  type NewApproval,
  type NewDecision,
  TOO_MANY_OPEN,
} from "../records/approval.ts";
import type { NewDelivery } from "../records/delivery.ts";
import type { Step } from "../records/step.ts";
import { integer, type Row, text } from "../columns.ts";
import { type ApprovalEnd, fromApproval, isFinished, toApproval, toDecidedEnd } from "../rows.ts";
import { insertSteps } from "./step-rows.ts";
import { type ChangeReport, recipientLock, toOrigin, type Work, type Writer } from "./writer.ts";

/*
 * A transaction that asks, ends or uses questions of a run holds the lock of the run's questions: a run that is held sees
 * each decision, and each decision sees whether its run is held.
 */

export const questionsLock = (runId: string): string => `questions ${runId}`;
/** Its open questions are counted. */
const openLock = (mapping: string): string => `open questions ${mapping}`;

export function* reserveCodes({ run }: Writer, count: number): Work<string[]> {
  const codes: string[] = [];
  while (codes.length < count) {
    const code = createCode();
    const insert = "INSERT INTO hookline.approval_codes VALUES ($1, $2) ON CONFLICT DO NOTHING";
    if ((yield* run(insert, [code, Date.now()])) > 0) codes.push(code);
  }
  return codes;
}

export function* drawButtons({ run }: Writer, approvalId: string, buttons: DrawnButton[]): Work<void> {
  for (const { hash, decision } of buttons)
    yield* run("INSERT INTO hookline.buttons VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", [
      hash,
      approvalId,
      decision,
      Date.now(),
    ]);
}

export function* keepAsked({ run }: Writer, approvalId: string, messageId: string): Work<void> {
  yield* run(KEEP_ASKED, [approvalId, messageId]);
}

const KEEP_ASKED = `
  UPDATE hookline.deliveries SET message_id = concat_ws(chr(10), message_id, $2::text)
  WHERE id = (SELECT question_id FROM hookline.approvals WHERE id = $1)`;

/** The locks that `insertApprovals` needs. */
export function locksOf(asked: NewApproval[]): string[] {
  return asked.flatMap(({ mapping, question }) => [openLock(mapping), ...(question ? [recipientLock(question)] : [])]);
}

/** With the deliveries that ask. True if all of them are open. */
export function* insertApprovals(writer: Writer, asked: NewApproval[]): Work<boolean> {
  let areOpen = true;
  const counted: NewDelivery[] = [];
  for (const approval of asked) {
    if (yield* insertApproval(writer, approval)) {
      counted.push(...(approval.question ? [approval.question] : []), ...(approval.deliveries ?? []));
    } else areOpen = false;
  }
  countDeliveries(writer, counted, 1);
  return areOpen;
}

function* insertApproval(writer: Writer, approval: NewApproval): Work<boolean> {
  const { id, kind, code, runId, eventId, mapping, askedAt, expiresAt, question } = approval;
  // Its result came meanwhile.
  if (kind === "outcome" && isFinished(yield* readStep(writer, runId, approval.step))) return false;
  const isRefused = kind !== "outcome" && (yield* countOpen(writer, mapping)) >= MAX_OPEN;
  const state: ApprovalState = isRefused ? "denied" : "open";
  const end: ApprovalEnd = { decidedAt: askedAt, reason: TOO_MANY_OPEN };
  const detail = fromApproval(approval);
  const questionId = isRefused ? undefined : question?.id;
  const decision = isRefused ? JSON.stringify(end) : undefined;
  const endsAt = expiresAt === undefined ? undefined : expiresAt + writer.clockOffsetMs;
  yield* writer.run(INSERT, [id, runId, eventId, mapping, code, state, endsAt, questionId, detail, decision]);
  yield* writer.report([{ kind: "approval", id, eventId, state, runId }]);
  if (question && !isRefused) yield* writer.insertDeliveries([question], askedAt);
  return !isRefused;
}

const INSERT = `
  INSERT INTO hookline.approvals (id, run_id, event_id, mapping, code, state, expires_at, question_id, detail, decision)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

function* countOpen({ get }: Writer, mapping: string): Work<number> {
  const count = "SELECT count(*) AS open FROM hookline.approvals WHERE state = 'open' AND mapping = $1";
  return integer((yield* get(count, [mapping]))?.open);
}

/** Deliveries of a held reply keep its event unfinished, as if they were there. */
function countDeliveries(writer: Writer, deliveries: NewDelivery[], each: 1 | -1): void {
  for (const [runId, own] of Map.groupBy(deliveries, (delivery) => delivery.runId)) {
    writer.count({ runId, eventId: own[0]?.eventId }, { open: each * own.length, dead: 0 });
  }
}

export function* decideApproval(writer: Writer, id: string, decision: NewDecision): Work<Decided | undefined> {
  const found = isId(id) ? yield* writer.get(FIND, [id]) : undefined;
  if (!found) return undefined;
  const approval = toApproval(found, writer.clockOffsetMs);
  yield* writer.lock(locksToEnd(approval));
  const { state, end } = toDecidedEnd(approval, decision);
  const isFirst = yield* endApproval(writer, approval, state, end);
  const after = toApproval((yield* writer.get(FIND, [id])) ?? found, writer.clockOffsetMs);
  const isOwn = writer.isRepeated && after.decidedAt === decision.at && after.by === decision.by;
  return { kind: state !== "expired" && (isFirst || isOwn) ? "decided" : "conflict", approval: after };
}

const FIND = "SELECT * FROM hookline.approvals WHERE id = $1";

function locksToEnd({ runId, deliveries = [], editable }: Approval): string[] {
  return [questionsLock(runId), ...[...deliveries, ...(editable ? [editable] : [])].map(recipientLock)];
}

export function* expireApprovals(writer: Writer, now: number): Work<number> {
  const expired = "SELECT * FROM hookline.approvals WHERE state = 'open' AND expires_at <= $1";
  const approvals = (yield* writer.all(expired, [now + writer.clockOffsetMs])).map((row) => toApproval(row));
  return yield* endAll(writer, approvals, "expired", { decidedAt: now });
}

/** Withdraws the open questions of a run: all, or those about the outcome of a call. */
export function* withdrawApprovals(
  writer: Writer,
  { runId, step }: { runId: string; step?: number },
  reason: string,
): Work<void> {
  const rows = yield* writer.all("SELECT * FROM hookline.approvals WHERE run_id = $1 AND state = 'open'", [runId]);
  const meant = rows
    .map((row) => toApproval(row))
    .filter((approval) => step === undefined || (approval.kind === "outcome" && approval.step === step));
  yield* endAll(writer, meant, "withdrawn", { decidedAt: Date.now(), reason });
}

/** Gives how many were open. */
function* endAll(writer: Writer, approvals: Approval[], state: ApprovalState, end: ApprovalEnd): Work<number> {
  yield* writer.lock(approvals.flatMap(locksToEnd));
  let ended = 0;
  for (const approval of approvals) if (yield* endApproval(writer, approval, state, end)) ended++;
  return ended;
}

/** Ends an open question, and lets its run go on. False if it is not open. */
function* endApproval(writer: Writer, approval: Approval, state: ApprovalState, end: ApprovalEnd): Work<boolean> {
  const { id, eventId, runId, deliveries = [], askedAt } = approval;
  if ((yield* writer.run(END, [id, state, JSON.stringify(end)])) === 0) return false;
  yield* writeEnd(writer, approval, end.decidedAt ?? askedAt);
  if (state === "approved") yield* writer.insertDeliveries(deliveries, end.decidedAt ?? askedAt);
  else countDeliveries(writer, deliveries, -1);
  const reports: ChangeReport[] = [{ kind: "approval", id, eventId, state, runId }];
  if ((yield* writer.run(RELEASE_RUN, [runId, Object.values(QUESTION_HOLDS)])) > 0) {
    writer.announce("run");
    reports.push({ kind: "run", id: runId, eventId, state: "ready" });
  }
  yield* writer.report(reports);
  return true;
}

/** A message that asks is edited. One that is not sent yet is skipped. */
function* writeEnd(writer: Writer, { id, eventId, runId, editable, questionId }: Approval, at: number): Work<void> {
  if (!editable || questionId === undefined) return;
  const asked = "SELECT 1 AS asked FROM hookline.deliveries WHERE id = $1 AND (finished_at IS NULL OR state = 'sent')";
  if (!(yield* writer.get(asked, [questionId]))) return;
  const edit: NewDelivery = { id: createId(), runId, eventId, ...editable, text: "The question has ended.", ends: id };
  yield* writer.insertDeliveries([edit], at);
  countDeliveries(writer, [edit], 1);
}

const END = "UPDATE hookline.approvals SET state = $2, decision = $3 WHERE id = $1 AND state = 'open'";

const RELEASE_RUN = `
  UPDATE hookline.runs SET state = 'ready' WHERE id = $1 AND state = 'held' AND hold_reason = ANY($2::text[])`;

/** The states in which an approval can be used, or withdrawn by its run. */
const USABLE: Record<ApprovalUse["state"], ReadonlySet<string>> = {
  used: new Set(["approved"]),
  withdrawn: new Set(["open", "approved", "used"]),
};

/** Ends approvals with a step of their calls. False, and changes nothing, if one of them cannot be used any more. */
export function* useApprovals(writer: Writer, runId: string, uses: ApprovalUse[]): Work<boolean> {
  const rows: Row[] = [];
  for (const { id, state } of uses) {
    const find = "SELECT * FROM hookline.approvals WHERE id = $1 AND run_id = $2 FOR UPDATE";
    const row = yield* writer.get(find, [id, runId]);
    const isOpen = USABLE[state].has(text(row?.state));
    // The earlier attempt has used it under the same claim.
    if (!row || !(isOpen || (writer.isRepeated && row.state === state))) return false;
    rows.push(row);
  }
  for (const [index, { id, state, reason }] of uses.entries()) {
    const { decision, ...row } = rows[index] ?? {};
    const end: ApprovalEnd = decision ? JSON.parse(text(decision)) : { decidedAt: Date.now() };
    const json = JSON.stringify(reason === undefined ? end : { ...end, reason });
    yield* writer.run("UPDATE hookline.approvals SET state = $2, decision = $3 WHERE id = $1", [id, state, json]);
    yield* writer.report([{ kind: "approval", id, ...toOrigin(row), state }]);
  }
  return true;
}

export function* settleCall(writer: Writer, runId: string, result: Step): Work<boolean> {
  yield* writer.lock([questionsLock(runId)]);
  const stored = yield* readStep(writer, runId, result.n);
  if (stored?.callId === undefined || stored.callId !== result.callId || stored.hash !== result.hash) return false;
  const { state, text: late, finishedAt } = result;
  const step = isFinished(stored) ? { ...stored, late: { state, text: late, finishedAt } } : result;
  yield* insertSteps(writer, runId, [step]);
  yield* withdrawApprovals(writer, { runId, step: result.n }, "The result of the call came.");
  return true;
}

/** Whether a call that starts has a result: that of an earlier attempt came meanwhile. */
export function* isAnswered(writer: Writer, runId: string, steps: Step[]): Work<boolean> {
  for (const { n, state } of steps) {
    if (state === "started" && isFinished(yield* readStep(writer, runId, n))) return true;
  }
  return false;
}

function* readStep({ get }: Writer, runId: string, n: number): Work<Step | undefined> {
  const row = yield* get("SELECT detail FROM hookline.steps WHERE run_id = $1 AND n = $2 FOR UPDATE", [runId, n]);
  return row && JSON.parse(text(row.detail));
}

/** A batch of codes that can be used again. */
export function sweepCodes({ run }: Writer, now: number, limit: number): Work<number> {
  return run(
    `DELETE FROM hookline.approval_codes WHERE code IN (SELECT code FROM hookline.approval_codes AS old
       WHERE reserved_at < $1
         AND NOT EXISTS (SELECT 1 FROM hookline.approvals WHERE state = 'open' AND code = old.code) LIMIT $2)`,
    [now - KEEP_CODE_MS, limit],
  );
}

/** Approvals of heartbeats. */
export function sweepLooseApprovals({ run }: Writer, limit: number): Work<number> {
  return run(
    `DELETE FROM hookline.approvals WHERE id IN (SELECT id FROM hookline.approvals AS loose
       WHERE event_id IS NULL AND state <> 'open'
         AND NOT EXISTS (SELECT 1 FROM hookline.runs WHERE runs.id = loose.run_id) LIMIT $1)`,
    [limit],
  );
}
