import { DriverError } from "../errors.ts";

/** The levels the AI SDK's portable `reasoning` option takes, in ascending order. */
const LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
type Reasoning = (typeof LEVELS)[number] | "provider-default";

/** Other words that people write, and the level nearest to each. */
const NEAREST = new Map<string, Reasoning>([
  ["off", "none"],
  ["min", "minimal"],
  ["extra-high", "xhigh"],
  ["ultra", "max"],
  ["maximum", "max"],
  ["adaptive", "provider-default"],
  ["auto", "provider-default"],
  ["default", "provider-default"],
]);

/** Turns an operator's thinking level into the nearest one the SDK takes; `warning` says so where that is another word. */
export function toReasoning(thinking: string | undefined): { reasoning?: Reasoning; warning?: string } {
  const word = thinking?.trim().toLowerCase();
  if (!word) return {};
  const level = LEVELS.find((known) => known === word);
  if (level) return { reasoning: level };
  const reasoning = NEAREST.get(word);
  if (reasoning) return { reasoning, warning: `Thinking level "${word}" was taken as "${reasoning}".` };
  return {
    warning: `Thinking level "${word.slice(0, 40)}" is not known, so the model's own was used; known are ${LEVELS.join(", ")}.`,
  };
}

/** What a turn's model says after the provider's name and the slash. Throws a lasting `DriverError` where that is nothing. */
export function requireModelId(provider: string, model: string | undefined): string {
  const prefix = `${provider}/`;
  if (model?.startsWith(prefix) && model.length > prefix.length) return model.slice(prefix.length);
  throw new DriverError(`Expected a model of the form ${prefix}<model>, got "${model ?? ""}".`, { retryable: false });
}
