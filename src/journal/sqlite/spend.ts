import { MAIN_SESSION } from "../../types.ts";
import type { Spend, TurnOutcome } from "../records.ts";
import type { Database } from "./database.ts";
import { type Row, text, toSpend } from "../rows.ts";

const HOUR_MS = 3_600_000;

/** Adds what a finished run used, if its agent said so. The row has the run's `session_key`, `hook` and `mapping`. */
export function recordSpend(
  database: Database,
  row: Row | undefined,
  { usage, cost = 0, model, finishedAt }: TurnOutcome,
): void {
  if (!usage) return;
  const { session_key = MAIN_SESSION, hook = null, mapping = "" } = row ?? {};
  const hour = finishedAt - (finishedAt % HOUR_MS);
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const key = [hour, text(session_key), hook === null ? "" : text(hook), text(mapping), model ?? ""];
  database.run(ADD_SPEND, ...key, inputTokens, outputTokens, cost);
}

const ADD_SPEND = `
  INSERT INTO spend (hour, session_key, hook, mapping, model, runs, input_tokens, output_tokens, cost)
  VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET runs = runs + 1, cost = cost + excluded.cost,
    input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens`;

export function readSpend(
  database: Database,
  { since, sessionKey = null }: { since: number; sessionKey?: string | null },
): Spend[] {
  return database.all(READ_SPEND, since, sessionKey).map(toSpend);
}

const READ_SPEND = `
  SELECT hook, mapping, model, sum(runs) AS runs, sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens, sum(cost) AS cost
  FROM spend WHERE hour >= ?1 AND (?2 IS NULL OR session_key = ?2)
  GROUP BY hook, mapping, model ORDER BY cost DESC, sum(input_tokens) + sum(output_tokens) DESC`;

export function sweepSpend(database: Database, keepFrom: number, limit: number): number {
  return database.run(
    `DELETE FROM spend WHERE hour < ?1 AND hour <= (SELECT max(hour) FROM (SELECT hour FROM spend ORDER BY hour LIMIT ?2))`,
    keepFrom - HOUR_MS,
    limit,
  );
}
