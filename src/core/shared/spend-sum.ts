import type { Spend } from "../journal/journal.ts";

/** Usage of some turns together. */
export interface SpendSum extends Pick<Spend, "runs" | "inputTokens" | "outputTokens" | "cost"> {
  name: string;
}

export function addUpSpend(name: string, rows: readonly Omit<SpendSum, "name">[]): SpendSum {
  const total = { name, runs: 0, inputTokens: 0, outputTokens: 0, cost: 0 };
  for (const { runs, inputTokens, outputTokens, cost } of rows) {
    total.runs += runs;
    total.inputTokens += inputTokens;
    total.outputTokens += outputTokens;
    total.cost += cost;
  }
  return total;
}
