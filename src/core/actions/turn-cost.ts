import type { TokenUsage } from "../ports/agent.ts";
import type { ModelPrice, ResolvedConfig } from "../config/resolved-config.ts";

export function addUsage(sum: TokenUsage | undefined, usage: TokenUsage | undefined): TokenUsage | undefined {
  if (!sum || !usage) return sum ?? usage;
  const add = (field: keyof TokenUsage): number | undefined =>
    sum[field] === undefined && usage[field] === undefined ? undefined : (sum[field] ?? 0) + (usage[field] ?? 0);
  return {
    inputTokens: add("inputTokens"),
    outputTokens: add("outputTokens"),
    cachedInputTokens: add("cachedInputTokens"),
    cacheWriteTokens: add("cacheWriteTokens"),
  };
}

const MILLION = 1_000_000;

/** Undefined without a price, or if the agent does not say what it used. Cached tokens are part of the input. */
export function toCost(usage: TokenUsage | undefined, price: ModelPrice | undefined): number | undefined {
  if (!usage || !price) return undefined;
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const plainTokens = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  const total =
    plainTokens * input + cachedInputTokens * cachedInput + cacheWriteTokens * cacheWrite + outputTokens * output;
  return total / MILLION;
}

/** Whether a turn has used what `agents.budget.perRun` allows. */
export function isSpent(
  usage: TokenUsage | undefined,
  cost: number | undefined,
  budget: ResolvedConfig["agents"]["budget"],
): boolean {
  const { perRun = Infinity, unit = "cost" } = budget ?? {};
  return (unit === "cost" ? (cost ?? 0) : (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)) >= perRun;
}
