import { isId } from "../../shared/id.ts";
import { type ApprovalState, QUESTION_HOLDS } from "../../types.ts";
import {
  createCode,
  KEEP_CODE_MS,
  MAX_OPEN,
  TOO_MANY_OPEN,
  type Approval,
  type Decided,
  type NewApproval,
  type NewDecision,
} from "../records/approval.ts";
import type { NewDelivery } from "../records/delivery.ts";
import type { Claim } from "../records/node.ts";
import type { Questions } from "../records/run.ts";
import type { Step } from "../records/step.ts";
import {
  type ApprovalEnd,
  fromApproval,
  integer,
  isFinished,
  optional,
  text,
  toApproval,
  toDecidedEnd,
} from "../rows.ts";
import { updateEventCounts } from "./counters.ts";
import type { Sql } from "./database.ts";
import { addDeliveries, reportsOfDeliveries } from "./deliveries.ts";
import { addSteps, readStep } from "./steps.ts";
import {
  Batch,
  lock,
  recipientLock,
  type ChangeReport,
  reportAll,
  toPostgresText,
  type Transaction,
} from "./transaction.ts";

/*
 * A transaction that asks, ends or uses questions of a run holds the lock of the run's questions: a run that is held sees
 * each decision, and each decision sees whether its run is held.
 */

const questionsLock = (runId: string): string => `questions ${runId}`;
/** Its open questions are counted. */
const openLock = (mapping: string): string => `open questions ${mapping}`;

export async function reserveCodes({ run }: Sql, count: number): Promise<string[]> {
  const codes: string[] = [];
  while (codes.length < count) {
    const code = createCode();
    const insert = "INSERT INTO hookline.approval_codes VALUES ($1, $2) ON CONFLICT DO NOTHING";
    if ((await run(insert, [code, Date.now()])) > 0) codes.push(code);
  }
  return codes;
}

/** Asks and holds. The run is ready instead if a question has ended already, or is not opened. */
export async function holdForQuestions(
  transaction: Transaction,
  { id, token }: Claim,
  reason: string,
  { steps, asked, open }: Questions,
): Promise<boolean> {
  await lock(transaction, [questionsLock(id), ...locksOf(asked)]);
  const { get, all, run, isRepeated } = transaction;
  const claimed = await get(
    "SELECT event_id FROM hookline.runs WHERE id = $1 AND claims = $2 AND state = 'running' FOR UPDATE",
    [id, token],
  );
  if (!claimed) {
    // The earlier attempt: nobody has claimed it since.
    const since = "SELECT 1 FROM hookline.runs WHERE id = $1 AND claims = $2 AND state IN ('ready', 'held')";
    return isRepeated && (await get(since, [id, token])) !== undefined;
  }
  const batch = new Batch();
  addSteps(batch, [{ runId: id, steps }]);
  await batch.run(transaction, "1");
  const areNewOpen = await insertApprovals(transaction, asked);
  const stillOpen = await all("SELECT 1 FROM hookline.approvals WHERE id = ANY($1::uuid[]) AND state = 'open'", [open]);
  const state = areNewOpen && stillOpen.length === open.length ? "held" : "ready";
  await run("UPDATE hookline.runs SET state = $2, hold_reason = $3, attempts = attempts - 1 WHERE id = $1", [
    id,
    state,
    reason,
  ]);
  if (state === "ready") transaction.announce("run");
  const eventId = optional(text, claimed.event_id);
  await reportAll(transaction, [{ kind: "run", id, eventId, state }]);
  return true;
}

/** The locks that `insertApprovals` needs. */
export function locksOf(asked: NewApproval[]): string[] {
  return asked.flatMap(({ mapping, question }) => [openLock(mapping), ...(question ? [recipientLock(question)] : [])]);
}

/** With the deliveries that ask. True if all of them are open. */
export async function insertApprovals(transaction: Transaction, asked: NewApproval[]): Promise<boolean> {
  let areOpen = true;
  const counted: NewDelivery[] = [];
  for (const approval of asked) {
    if (await insertApproval(transaction, approval)) {
      counted.push(...(approval.question ? [approval.question] : []), ...(approval.deliveries ?? []));
    } else areOpen = false;
  }
  countDeliveries(transaction, counted, 1);
  return areOpen;
}

async function insertApproval(transaction: Transaction, approval: NewApproval): Promise<boolean> {
  const { id, kind, code, runId, eventId, mapping, askedAt, expiresAt, question } = approval;
  // Its result came meanwhile.
  if (kind === "outcome" && isFinished(await readStep(transaction, runId, approval.step))) return false;
  const isRefused = kind !== "outcome" && (await countOpen(transaction, mapping)) >= MAX_OPEN;
  const state: ApprovalState = isRefused ? "denied" : "open";
  const end = isRefused
    ? JSON.stringify({
        decidedAt: askedAt,
        reason: TOO_MANY_OPEN,
      } satisfies ApprovalEnd)
    : null;
  const detail = toPostgresText(fromApproval(approval));
  const questionId = isRefused ? null : question?.id;
  const row = [id, runId, eventId, toPostgresText(mapping), code, state, expiresAt, questionId, detail, end];
  await transaction.run(INSERT, row);
  await reportAll(transaction, [{ kind: "approval", id, eventId, state, runId }]);
  if (question && !isRefused) await insertDeliveries(transaction, [question], askedAt);
  return !isRefused;
}

const INSERT = `
  INSERT INTO hookline.approvals (id, run_id, event_id, mapping, code, state, expires_at, question_id, detail, decision)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

async function countOpen({ get }: Sql, mapping: string): Promise<number> {
  const row = await get("SELECT count(*) AS open FROM hookline.approvals WHERE state = 'open' AND mapping = $1", [
    toPostgresText(mapping),
  ]);
  return integer(row?.open);
}

async function insertDeliveries(transaction: Transaction, deliveries: NewDelivery[], at: number): Promise<void> {
  const batch = new Batch();
  addDeliveries(
    batch,
    deliveries.map((delivery) => ({ delivery, at })),
    transaction.clockOffsetMs,
  );
  await batch.run(transaction, "1");
  if (deliveries.length > 0) transaction.announce("delivery");
  await reportAll(transaction, reportsOfDeliveries(deliveries));
}

/** Deliveries of a held reply keep its event unfinished, as if they were there. */
function countDeliveries(transaction: Transaction, deliveries: NewDelivery[], each: 1 | -1): void {
  const byRun = Map.groupBy(deliveries, ({ runId }) => runId);
  const changes = Array.from(byRun, ([runId, own]) => ({
    event_id: own[0]?.eventId,
    run_id: runId,
    open: each * own.length,
    dead: 0,
  }));
  updateEventCounts(transaction, changes);
}

export async function decideApproval(
  transaction: Transaction,
  id: string,
  decision: NewDecision,
): Promise<Decided | undefined> {
  const found = isId(id) ? await transaction.withBegin.get(FIND, [id]) : undefined;
  if (!found) return undefined;
  const approval = toApproval(found);
  await lock(transaction, locksToEnd(approval));
  const { state, end } = toDecidedEnd(approval, decision);
  const isFirst = await endApproval(transaction, approval, state, end);
  const after = toApproval((await transaction.get(FIND, [id])) ?? found);
  const isOwn = transaction.isRepeated && after.decidedAt === decision.at && after.by === decision.by;
  return { kind: state !== "expired" && (isFirst || isOwn) ? "decided" : "conflict", approval: after };
}

const FIND = "SELECT * FROM hookline.approvals WHERE id = $1";

function locksToEnd({ runId, deliveries = [] }: Approval): string[] {
  return [questionsLock(runId), ...deliveries.map(recipientLock)];
}

export async function expireApprovals(transaction: Transaction, now: number): Promise<number> {
  const rows = await transaction.withBegin.all(
    "SELECT * FROM hookline.approvals WHERE state = 'open' AND expires_at <= $1",
    [now],
  );
  return endAll(transaction, rows.map(toApproval), "expired", {
    decidedAt: now,
  });
}

/** Withdraws the open questions of a run: all, or those about the outcome of a call. */
export async function withdrawApprovals(
  transaction: Transaction,
  { runId, step }: { runId: string; step?: number },
  reason: string,
): Promise<void> {
  const rows = await transaction.all("SELECT * FROM hookline.approvals WHERE run_id = $1 AND state = 'open'", [runId]);
  const meant = rows
    .map(toApproval)
    .filter((approval) => step === undefined || (approval.kind === "outcome" && approval.step === step));
  await endAll(transaction, meant, "withdrawn", {
    decidedAt: Date.now(),
    reason,
  });
}

/** Gives how many were open. */
async function endAll(
  transaction: Transaction,
  approvals: Approval[],
  state: ApprovalState,
  end: ApprovalEnd,
): Promise<number> {
  await lock(transaction, approvals.flatMap(locksToEnd));
  let ended = 0;
  for (const approval of approvals) if (await endApproval(transaction, approval, state, end)) ended++;
  return ended;
}

/** Ends an open question, and lets its run go on. False if it is not open. */
async function endApproval(
  transaction: Transaction,
  { id, eventId, runId, deliveries = [], askedAt }: Approval,
  state: ApprovalState,
  end: ApprovalEnd,
): Promise<boolean> {
  const { get, run } = transaction;
  const changed = await run(
    "UPDATE hookline.approvals SET state = $2, decision = $3 WHERE id = $1 AND state = 'open'",
    [id, state, toPostgresText(JSON.stringify(end))],
  );
  if (changed === 0) return false;
  if (state === "approved") await insertDeliveries(transaction, deliveries, end.decidedAt ?? askedAt);
  else countDeliveries(transaction, deliveries, -1);
  const released = await get(RELEASE_RUN, [runId, Object.values(QUESTION_HOLDS)]);
  if (released) transaction.announce("run");
  const reports: ChangeReport[] = [{ kind: "approval", id, eventId, state, runId }];
  if (released) reports.push({ kind: "run", id: runId, eventId, state: "ready" });
  await reportAll(transaction, reports);
  return true;
}

const RELEASE_RUN = `
  UPDATE hookline.runs SET state = 'ready' WHERE id = $1 AND state = 'held' AND hold_reason = ANY($2::text[])
  RETURNING id`;

export async function settleCall(transaction: Transaction, runId: string, result: Step): Promise<boolean> {
  await lock(transaction, [questionsLock(runId)]);
  const stored = await readStep(transaction, runId, result.n);
  if (stored?.callId === undefined || stored.callId !== result.callId || stored.hash !== result.hash) return false;
  const { state, text: late, finishedAt } = result;
  const step = isFinished(stored) ? { ...stored, late: { state, text: late, finishedAt } } : result;
  const batch = new Batch();
  addSteps(batch, [{ runId, steps: [step] }]);
  await batch.run(transaction, "1");
  await withdrawApprovals(transaction, { runId, step: result.n }, "The result of the call came.");
  return true;
}

/** A batch of codes that can be used again. */
export function sweepCodes({ run }: Sql, now: number, limit: number): Promise<number> {
  return run(
    `DELETE FROM hookline.approval_codes WHERE code IN (SELECT code FROM hookline.approval_codes AS old
       WHERE reserved_at < $1
         AND NOT EXISTS (SELECT 1 FROM hookline.approvals WHERE state = 'open' AND code = old.code) LIMIT $2)`,
    [now - KEEP_CODE_MS, limit],
  );
}

/** Those of heartbeats. */
export function sweepLooseApprovals({ run }: Sql, limit: number): Promise<number> {
  return run(
    `DELETE FROM hookline.approvals WHERE id IN (SELECT id FROM hookline.approvals AS loose
       WHERE event_id IS NULL AND state <> 'open'
         AND NOT EXISTS (SELECT 1 FROM hookline.runs WHERE runs.id = loose.run_id) LIMIT $1)`,
    [limit],
  );
}
