import type { ApprovalUse } from "../records/approval.ts";
import type { Claim } from "../records/node.ts";
import type { Step } from "../records/step.ts";
import { type ApprovalEnd, integer, isFinished, type Row, text } from "../rows.ts";
import { recordSpend } from "./counters.ts";
import type { Database } from "./database.ts";
import { reportApproval, reportRun, type Transaction } from "./group-commit.ts";

/** A run that the claim still holds, with what its spend is counted by. */
export function findClaimed(database: Database, { id, token }: Claim): Row | undefined {
  return database.get(
    `SELECT runs.seq, event_seq, session_key, mapping, hook FROM runs LEFT JOIN events ON events.seq = event_seq
     WHERE runs.id = ? AND claims = ? AND state = 'running'`,
    id,
    token,
  );
}

export function recordSteps(transaction: Transaction, claim: Claim, steps: Step[], uses: ApprovalUse[] = []): boolean {
  const run = findClaimed(transaction, claim);
  if (!run) return false;
  // The result of an earlier attempt came meanwhile.
  const isKnown = steps.some(({ n, state }) => state === "started" && isFinished(readStep(transaction, claim.id, n)));
  const approvals = uses.map((use) => findUsable(transaction, claim.id, use));
  if (isKnown || approvals.includes(undefined)) return false;
  for (const [index, use] of uses.entries()) useApproval(transaction, approvals[index] ?? {}, use);
  const seq = integer(run.seq);
  for (const step of steps) {
    const isNew = insertStep(transaction, claim.id, step);
    if (isNew) recordSpend(transaction, run, { ...step, finishedAt: step.finishedAt ?? step.startedAt, runs: 0 });
  }
  if (steps.some(isFinished)) transaction.run("UPDATE OR FAIL runs SET attempts = 1 WHERE seq = ?", seq);
  reportRun(transaction, seq, "running");
  return true;
}

function findUsable(database: Database, runId: string, { id, state }: ApprovalUse): Row | undefined {
  const row = database.get("SELECT * FROM approvals WHERE id = ? AND run_id = ?", id, runId);
  return row?.state === "approved" || (state === "withdrawn" && row?.state === "open") ? row : undefined;
}

function useApproval(transaction: Transaction, row: Row, { id, state, reason }: ApprovalUse): void {
  const decision: ApprovalEnd = row.decision ? JSON.parse(text(row.decision)) : { decidedAt: Date.now() };
  const end = JSON.stringify(reason === undefined ? decision : { ...decision, reason });
  transaction.run("UPDATE OR FAIL approvals SET state = ?, decision = ? WHERE id = ?", state, end, id);
  reportApproval(transaction, row, state);
}

/** True for an answer that was not recorded before. */
export function insertStep(database: Database, runId: string, step: Step): boolean {
  const values = [runId, step.n, step.state, JSON.stringify(step)];
  return database.run(step.kind === "model" ? INSERT_ANSWER : REPLACE_STEP, ...values) > 0 && step.kind === "model";
}

const INSERT_ANSWER = "INSERT INTO steps (run_id, n, state, detail) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";

/** A result is only replaced by another. */
const REPLACE_STEP = `
  INSERT INTO steps (run_id, n, state, detail) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET state = excluded.state, detail = excluded.detail
  WHERE steps.state NOT IN ('done', 'failed') OR excluded.state IN ('done', 'failed')`;

export function readStep(database: Database, runId: string, n: number): Step | undefined {
  const row = database.get("SELECT detail FROM steps WHERE run_id = ? AND n = ?", runId, n);
  return row && JSON.parse(text(row.detail));
}
