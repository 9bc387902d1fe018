import type { Step } from "../records/step.ts";
import { type Batch } from "./transaction.ts";

/** `condition` is about the `run_id` of the steps. */
export function addSteps(batch: Batch, runs: { runId: string; steps: Step[] }[], condition = "true"): void {
  const rows = runs.flatMap(({ runId, steps }) =>
    steps.map((step) => ({
      run_id: runId,
      n: step.n,
      state: step.state,
      is_answer: step.kind === "model",
      detail: JSON.stringify(step),
    })),
  );
  if (rows.length === 0) return;
  batch.add(
    "step",
    rows,
    `SELECT * FROM json_to_recordset($rows) AS row (run_id uuid, n integer, state text, is_answer boolean, detail text)
     WHERE ${condition}`,
  );
  const insert = "INSERT INTO hookline.steps (run_id, n, state, detail) SELECT run_id, n, state, detail FROM step";
  batch.addOver("new_answers", `${insert} WHERE is_answer ON CONFLICT DO NOTHING RETURNING n`);
  batch.addOver(
    "new_steps",
    `${insert} WHERE NOT is_answer ON CONFLICT (run_id, n) DO UPDATE SET state = excluded.state, detail = excluded.detail
     WHERE steps.state NOT IN ('done', 'failed') OR excluded.state IN ('done', 'failed')`,
  );
}
