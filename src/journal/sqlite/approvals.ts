import { type ApprovalState, QUESTION_HOLDS } from "../../types.ts";
import {
  createCode,
  KEEP_CODE_MS,
  MAX_OPEN,
  TOO_MANY_OPEN,
  type Decided,
  type NewApproval,
  type NewDecision,
} from "../records/approval.ts";
import type { NewDelivery } from "../records/delivery.ts";
import type { Claim } from "../records/node.ts";
import type { Questions } from "../records/run.ts";
import type { Step } from "../records/step.ts";
import { type ApprovalEnd, fromApproval, integer, isFinished, type Row, toApproval, toDecidedEnd } from "../rows.ts";
import { updateDeliveryCounts } from "./counters.ts";
import type { Database } from "./database.ts";
import { insertDeliveries } from "./deliveries.ts";
import { reportApproval, reportRun, type Transaction } from "./group-commit.ts";
import { findClaimed, insertStep, readStep } from "./steps.ts";

export function reserveCodes({ run }: Database, count: number): string[] {
  const codes: string[] = [];
  while (codes.length < count) {
    const code = createCode();
    if (run("INSERT OR IGNORE INTO approval_codes VALUES (?, ?)", code, Date.now()) > 0) codes.push(code);
  }
  return codes;
}

/** Asks and holds. The run is ready instead if a question has ended already, or is not opened. */
export function holdForQuestions(
  transaction: Transaction,
  claim: Claim,
  reason: string,
  { steps, asked, open }: Questions,
): boolean {
  const run = findClaimed(transaction, claim);
  if (!run) return false;
  for (const step of steps) insertStep(transaction, claim.id, step);
  const areNewOpen = insertApprovals(transaction, asked);
  const isOpen = (id: string): boolean => transaction.get(FIND, id)?.state === "open";
  const state = areNewOpen && open.every(isOpen) ? "held" : "ready";
  const seq = integer(run.seq);
  transaction.run(HOLD_RUN, state, reason, seq);
  if (state === "ready") transaction.announce("run");
  reportRun(transaction, seq, state);
  return true;
}

const HOLD_RUN = "UPDATE OR FAIL runs SET state = ?, hold_reason = ?, attempts = attempts - 1 WHERE seq = ?";

const FIND = "SELECT * FROM approvals WHERE id = ?";

/** With the deliveries that ask. True if all of them are open. */
export function insertApprovals(transaction: Transaction, asked: NewApproval[]): boolean {
  return asked.map((approval) => insertApproval(transaction, approval)).every(Boolean);
}

function insertApproval(transaction: Transaction, approval: NewApproval): boolean {
  const { id, kind, code, runId, eventId, mapping, askedAt, expiresAt, question, deliveries = [] } = approval;
  // Its result came meanwhile.
  if (kind === "outcome" && isFinished(readStep(transaction, runId, approval.step))) return false;
  const isRefused = kind !== "outcome" && countOpen(transaction, mapping) >= MAX_OPEN;
  const state: ApprovalState = isRefused ? "denied" : "open";
  const end = isRefused
    ? JSON.stringify({
        decidedAt: askedAt,
        reason: TOO_MANY_OPEN,
      } satisfies ApprovalEnd)
    : null;
  const detail = fromApproval(approval);
  const row = [id, runId, eventId, mapping, code, state, expiresAt, isRefused ? null : question?.id, detail, end];
  transaction.run(INSERT, ...row);
  if (!isRefused) {
    const asking = question ? [question] : [];
    insertDeliveries(transaction, asking, askedAt);
    countDeliveries(transaction, [...asking, ...deliveries], 1);
  }
  reportApproval(transaction, { id, run_id: runId, event_id: eventId ?? null }, state);
  return !isRefused;
}

const INSERT = `
  INSERT OR FAIL INTO approvals (id, run_id, event_id, mapping, code, state, expires_at, question_id, detail, decision)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

function countOpen({ get }: Database, mapping: string): number {
  return integer(get("SELECT count(*) AS open FROM approvals WHERE state = 'open' AND mapping = ?", mapping)?.open);
}

/** Deliveries of a held reply keep its event unfinished, as if they were there. */
function countDeliveries(transaction: Transaction, deliveries: NewDelivery[], open: 1 | -1): void {
  for (const { eventId, runId } of deliveries) updateDeliveryCounts(transaction, { eventId, runId }, { open, dead: 0 });
}

export function decideApproval(transaction: Transaction, id: string, decision: NewDecision): Decided | undefined {
  const row = transaction.get(FIND, id);
  if (!row) return undefined;
  const approval = toApproval(row);
  if (approval.state !== "open") return { kind: "conflict", approval };
  const { state, end } = toDecidedEnd(approval, decision);
  endApproval(transaction, row, state, end);
  return {
    kind: state === "expired" ? "conflict" : "decided",
    approval: toApproval(transaction.get(FIND, id) ?? {}),
  };
}

export function expireApprovals(transaction: Transaction, now: number): number {
  const rows = transaction.all("SELECT * FROM approvals WHERE state = 'open' AND expires_at <= ?", now);
  for (const row of rows) endApproval(transaction, row, "expired", { decidedAt: now });
  return rows.length;
}

/** Withdraws the open questions of a run: all, or those about the outcome of a call. */
export function withdrawApprovals(
  transaction: Transaction,
  { runId, step }: { runId: string; step?: number },
  reason: string,
): void {
  for (const row of transaction.all("SELECT * FROM approvals WHERE run_id = ? AND state = 'open'", runId)) {
    const approval = toApproval(row);
    const isMeant = step === undefined || (approval.kind === "outcome" && approval.step === step);
    if (isMeant)
      endApproval(transaction, row, "withdrawn", {
        decidedAt: Date.now(),
        reason,
      });
  }
}

/** Ends an open question, and lets its run go on. */
function endApproval(transaction: Transaction, row: Row, state: ApprovalState, end: ApprovalEnd): void {
  const { id, runId, deliveries = [], askedAt } = toApproval(row);
  transaction.run("UPDATE OR FAIL approvals SET state = ?, decision = ? WHERE id = ?", state, JSON.stringify(end), id);
  reportApproval(transaction, row, state);
  if (state === "approved") insertDeliveries(transaction, deliveries, end.decidedAt ?? askedAt);
  else countDeliveries(transaction, deliveries, -1);
  const released = transaction.get(RELEASE_RUN, runId, ...Object.values(QUESTION_HOLDS));
  if (!released) return;
  transaction.announce("run");
  reportRun(transaction, integer(released.seq), "ready");
}

const RELEASE_RUN = `
  UPDATE OR FAIL runs SET state = 'ready' WHERE id = ? AND state = 'held' AND hold_reason IN (?, ?) RETURNING seq`;

export function settleCall(transaction: Transaction, runId: string, result: Step): boolean {
  const stored = readStep(transaction, runId, result.n);
  if (stored?.callId === undefined || stored.callId !== result.callId || stored.hash !== result.hash) return false;
  const { state, text: late, finishedAt } = result;
  insertStep(transaction, runId, isFinished(stored) ? { ...stored, late: { state, text: late, finishedAt } } : result);
  withdrawApprovals(transaction, { runId, step: result.n }, "The result of the call came.");
  return true;
}

/** A batch of codes that can be used again. */
export function sweepCodes({ run }: Database, now: number, limit: number): number {
  return run(
    `DELETE FROM approval_codes WHERE code IN (SELECT code FROM approval_codes AS old
       WHERE reserved_at < ? AND NOT EXISTS (SELECT 1 FROM approvals WHERE state = 'open' AND code = old.code) LIMIT ?)`,
    now - KEEP_CODE_MS,
    limit,
  );
}

/** Those of heartbeats. */
export function sweepLooseApprovals({ run }: Database, limit: number): number {
  return run(
    `DELETE FROM approvals WHERE seq IN (SELECT seq FROM approvals WHERE event_id IS NULL AND state <> 'open'
       AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = run_id) LIMIT ?)`,
    limit,
  );
}
