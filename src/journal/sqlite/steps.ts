import type { Step } from "../records/step.ts";
import type { Database } from "./database.ts";

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
