import type { CallWarning, FinishReason, LanguageModelUsage } from "ai";
import { DriverError } from "../errors.ts";
import type { AgentReply } from "./port.ts";

/** What a model call gave, as far as a reply is made of it. */
interface ModelResult {
  text: string;
  finishReason: FinishReason;
  usage: LanguageModelUsage;
  warnings: CallWarning[] | undefined;
  response: { modelId: string };
}

/** Endings that leave a text unfinished. */
const CUT_SHORT = new Set<FinishReason>(["length", "content-filter", "error", "interrupted"]);
/** Those among them that the same prompt would meet again. */
const CUT_SHORT_AGAIN = new Set<FinishReason>(["length", "content-filter"]);

/**
 * The reply in a model's result, with a sentence for each warning. An unfinished text is a reply with a warning; where there is no
 * text at all, throws a `DriverError`, unless the model ended of its own accord: then it had nothing to say.
 */
export function toReply(provider: string, result: ModelResult, warnings: string[]): AgentReply {
  const { text, finishReason, usage } = result;
  const cutShort = CUT_SHORT.has(finishReason);
  if (cutShort && text.trim() === "") throw noReply(provider, finishReason);
  return {
    text,
    model: `${provider}/${result.response.modelId}`,
    usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens },
    warnings: [
      ...warnings,
      ...(result.warnings ?? []).map(toSentence),
      ...(cutShort ? [`The reply may be incomplete: it ended with "${finishReason}".`] : []),
    ],
  };
}

function noReply(provider: string, reason: FinishReason): DriverError {
  const kind = CUT_SHORT_AGAIN.has(reason) ? "lasting" : "passing";
  return new DriverError(kind, `${provider} ended with "${reason}" before it wrote a reply.`);
}

function toSentence(warning: CallWarning): string {
  switch (warning.type) {
    case "unsupported":
      return `"${warning.feature}" is not supported. ${warning.details ?? ""}`.trim();
    case "compatibility":
      return `"${warning.feature}" was adapted. ${warning.details ?? ""}`.trim();
    case "deprecated":
      return `"${warning.setting}" is deprecated. ${warning.message}`;
    default:
      return warning.message;
  }
}
