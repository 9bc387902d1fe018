import type { ApprovalUse, Claim, Step } from "../records.ts";
import { integer, isFinished, type Row, text } from "../rows.ts";
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

export function recordSteps(transaction: Transaction, claim: Claim, steps: Step[], use?: ApprovalUse): boolean {
  const run = findClaimed(transaction, claim);
  if (!run) return false;
  // The result of an earlier attempt came meanwhile.
  const isKnown = steps.some(({ n, state }) => state === "started" && isFinished(readStep(transaction, claim.id, n)));
  if (isKnown || (use && !useApproval(transaction, claim.id, use))) return false;
  const seq = integer(run.seq);
  for (const step of steps) {
    const isNew = insertStep(transaction, claim.id, step);
    if (isNew) recordSpend(transaction, run, { ...step, finishedAt: step.finishedAt ?? step.startedAt, runs: 0 });
  }
  transaction.run("UPDATE OR FAIL runs SET attempts = 1 WHERE seq = ?", seq);
  reportRun(transaction, seq, "running");
  return true;
}

/** False if it is not approved. */
function useApproval(transaction: Transaction, runId: string, { id, state, reason }: ApprovalUse): boolean {
  const row = transaction.get(FIND_APPROVED, id, runId);
  if (!row) return false;
  const end = reason === undefined ? text(row.decision) : JSON.stringify({ ...JSON.parse(text(row.decision)), reason });
  transaction.run("UPDATE OR FAIL approvals SET state = ?, decision = ? WHERE id = ?", state, end, id);
  reportApproval(transaction, row, state);
  return true;
}

const FIND_APPROVED = "SELECT * FROM approvals WHERE id = ? AND run_id = ? AND state = 'approved'";

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
