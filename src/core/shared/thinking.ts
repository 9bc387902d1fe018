/** The levels of the AI SDK's `reasoning` option, in ascending order. */
export const LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Reasoning = (typeof LEVELS)[number] | "provider-default";

/** Other words that people write. */
export const SYNONYMS = new Map<string, Reasoning>([
  ["off", "none"],
  ["min", "minimal"],
  ["extra-high", "xhigh"],
  ["ultra", "max"],
  ["maximum", "max"],
  ["adaptive", "provider-default"],
  ["auto", "provider-default"],
  ["default", "provider-default"],
]);

/** The kinds of providers that take a level as one of these words. Others may have their own. */
export const KINDS_WITH_LEVELS: readonly unknown[] = ["openai", "anthropic", "openai-compatible", "echo"];
