import type { Step } from "../records/step.ts";
import type { Work, Writer, WriteValue } from "./writer.ts";

/** Records steps. Gives the answers that were not recorded before. */
export function* insertSteps({ run, runEach }: Writer, runId: string, steps: Step[]): Work<Step[]> {
  const added: Step[] = [];
  for (const step of steps.filter(isAnswer)) {
    if ((yield* run(INSERT_ANSWER, toStepRow(runId, step))) > 0) added.push(step);
  }
  const others = steps.filter((step) => !isAnswer(step));
  yield* runEach(
    REPLACE_STEP,
    others.map((step) => toStepRow(runId, step)),
  );
  return added;
}

function isAnswer({ kind }: Step): boolean {
  return kind === "model";
}

export function toStepRow(runId: string, step: Step): WriteValue[] {
  return [runId, step.n, step.state, JSON.stringify(step)];
}

export const INSERT_ANSWER =
  "INSERT INTO hookline.steps (run_id, n, state, detail) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";

/** A result is only replaced by another. */
const REPLACE_STEP = `
  INSERT INTO hookline.steps (run_id, n, state, detail) VALUES ($1, $2, $3, $4)
  ON CONFLICT (run_id, n) DO UPDATE SET state = excluded.state, detail = excluded.detail
  WHERE steps.state NOT IN ('done', 'failed') OR excluded.state IN ('done', 'failed')`;
