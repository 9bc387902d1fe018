import { HOUR_MS } from "../../shared/time.ts";
import { MAIN_SESSION } from "../../types.ts";
import { optional, type Row, text } from "../columns.ts";
import type { Used, Work, Writer } from "./writer.ts";

type Spent = Record<"hour" | "runs" | "input_tokens" | "output_tokens" | "cost", number> & { model: string };

/** The columns of what a run used; undefined if its agent did not say so. */
export function toSpent({ usage, cost = 0, model = "", finishedAt, runs = 1 }: Used): Spent | undefined {
  if (!usage) return undefined;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const hour = finishedAt - (finishedAt % HOUR_MS);
  return { hour, model, runs, input_tokens: inputTokens, output_tokens: outputTokens, cost };
}

/** Adds what a run used. The row has the run's `session_key`, `hook` and `mapping`; default: a heartbeat. */
export function* addSpend({ run }: Pick<Writer, "run">, used: Used, row: Row = {}): Work<void> {
  const spent = toSpent(used);
  if (!spent) return;
  const { session_key = MAIN_SESSION, hook = null, mapping = "" } = row;
  const { hour, model, runs, input_tokens, output_tokens, cost } = spent;
  const key = [hour, text(session_key), optional(text, hook) ?? "", text(mapping), model];
  yield* run(ADD_SPEND, [...key, runs, input_tokens, output_tokens, cost]);
}

export const ADD_TO_SPENT = `
  ON CONFLICT (hour, session_key, hook, mapping, model) DO UPDATE SET runs = spend.runs + excluded.runs,
    input_tokens = spend.input_tokens + excluded.input_tokens,
    output_tokens = spend.output_tokens + excluded.output_tokens, cost = spend.cost + excluded.cost`;

const ADD_SPEND = `
  INSERT INTO hookline.spend (hour, session_key, hook, mapping, model, runs, input_tokens, output_tokens, cost)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ${ADD_TO_SPENT}`;
