import type { Claim, Step } from "../records.ts";
import { integer, type Row } from "../rows.ts";
import { recordSpend } from "./counters.ts";
import type { Database } from "./database.ts";
import { reportRun, type Transaction } from "./group-commit.ts";

/** A run that the claim still holds, with what its spend is counted by. */
export function findClaimed(database: Database, { id, token }: Claim): Row | undefined {
  return database.get(
    `SELECT runs.seq, event_seq, session_key, mapping, hook FROM runs LEFT JOIN events ON events.seq = event_seq
     WHERE runs.id = ? AND claims = ? AND state = 'running'`,
    id,
    token,
  );
}

export function recordSteps(transaction: Transaction, claim: Claim, steps: Step[]): boolean {
  const run = findClaimed(transaction, claim);
  if (!run) return false;
  const seq = integer(run.seq);
  for (const step of steps) {
    const isNew = insertStep(transaction, claim.id, step);
    if (isNew) recordSpend(transaction, run, { ...step, finishedAt: step.finishedAt ?? step.startedAt, runs: 0 });
  }
  transaction.run("UPDATE OR FAIL runs SET attempts = 1 WHERE seq = ?", seq);
  reportRun(transaction, seq, "running");
  return true;
}

/** True for an answer that was not recorded before. */
export function insertStep(database: Database, runId: string, step: Step): boolean {
  const values = [runId, step.n, step.state, JSON.stringify(step)];
  return database.run(step.kind === "model" ? INSERT_ANSWER : REPLACE_STEP, ...values) > 0 && step.kind === "model";
}

const INSERT_ANSWER = "INSERT INTO steps (run_id, n, state, detail) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";

const REPLACE_STEP = `
  INSERT INTO steps (run_id, n, state, detail) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET state = excluded.state, detail = excluded.detail`;
