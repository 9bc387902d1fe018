import { DriverError } from "../errors.ts";

/** The part of a turn's `provider/model` after the provider. Throws a permanent `DriverError` without one. */
export function requireModelId(provider: string, model: string | undefined): string {
  const prefix = `${provider}/`;
  if (model?.startsWith(prefix) && model.length > prefix.length) return model.slice(prefix.length);
  throw new DriverError(`Expected a model of the form ${prefix}<model>, got "${model ?? ""}".`, { retryable: false });
}

/** The levels of the AI SDK's `reasoning` option, in ascending order. */
const LEVELS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
type Reasoning = (typeof LEVELS)[number] | "provider-default";

/** Other words that people write. */
const SYNONYMS = new Map<string, Reasoning>([
  ["off", "none"],
  ["min", "minimal"],
  ["extra-high", "xhigh"],
  ["ultra", "max"],
  ["maximum", "max"],
  ["adaptive", "provider-default"],
  ["auto", "provider-default"],
  ["default", "provider-default"],
]);

/** The level of the AI SDK for a configured thinking level. `warning` says when it is not the same word. */
export function toReasoning(thinking: string | undefined): { reasoning?: Reasoning; warning?: string } {
  const word = thinking?.trim().toLowerCase();
  if (!word) return {};
  const level = LEVELS.find((known) => known === word);
  if (level) return { reasoning: level };
  const reasoning = SYNONYMS.get(word);
  if (reasoning) return { reasoning, warning: `Thinking level "${word}" was replaced by "${reasoning}".` };
  return {
    warning: `Thinking level "${word.slice(0, 40)}" is unknown and was ignored. Known levels: ${LEVELS.join(", ")}.`,
  };
}
