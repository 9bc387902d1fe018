import type { CallWarning, FinishReason, LanguageModelUsage, ModelMessage } from "ai";
import { DriverError } from "../core/errors.ts";
import type { AgentReply } from "../core/ports/agent.ts";
import { warnOfIncomplete } from "./errors.ts";
import { findWrittenCall } from "./written-calls.ts";

/** The fields of a model's result that make a reply. */
interface ModelResult {
  text: string;
  finishReason: FinishReason;
  usage: LanguageModelUsage;
  warnings: CallWarning[] | undefined;
  response: { modelId: string };
  /** The turn has calls. */
  canCall: boolean;
  toolCalls: { toolCallId: string; toolName: string; input: unknown }[];
  responseMessages: ModelMessage[];
}

/** Whether another attempt may end differently, by the reasons that leave a text incomplete. */
const INCOMPLETE = new Map<FinishReason, boolean>([
  // Without a call: the model tried one that the turn does not have.
  ["tool-calls", true],
  ["length", false],
  ["content-filter", false],
  ["error", true],
  ["interrupted", true],
]);

/** An incomplete text is a reply with a warning. An empty one is a reply only if the model finished by itself. */
export function toReply(provider: string, result: ModelResult, warnings: string[]): AgentReply {
  const { finishReason, usage, toolCalls, responseMessages } = result;
  const written = toolCalls.length === 0 ? findWrittenCall(result.text) : undefined;
  const text = written ? requireText(provider, written.before, result) : result.text;
  const calls = toolCalls.map(({ toolCallId, toolName: name, input }) => ({ toolCallId, name, arguments: input }));
  const retryable = INCOMPLETE.get(finishReason);
  const isComplete = retryable === undefined || calls.length > 0;
  return {
    text,
    // The SDK answers a call that it cannot parse by itself. Every call gets its result from the caller.
    ...(calls.length > 0 && { calls, answer: responseMessages.filter(({ role }) => role === "assistant") }),
    model: `${provider}/${result.response.modelId}`,
    usage: {
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      // Absent when there are none, as with most models.
      cachedInputTokens: usage.inputTokenDetails.cacheReadTokens || undefined,
      cacheWriteTokens: usage.inputTokenDetails.cacheWriteTokens || undefined,
    },
    warnings: [
      ...warnings,
      ...(result.warnings ?? []).map(toSentence),
      ...(written ? ["A call that the model wrote into its text was left out of the reply."] : []),
      ...(isComplete ? [] : [warnOfIncomplete(provider, { text, reason: finishReason, retryable })]),
    ],
  };
}

/** A turn that can call has not done its work when a call is only written. */
function requireText(provider: string, text: string, { canCall }: ModelResult): string {
  if (text !== "" && !canCall) return text;
  throw new DriverError(
    `${provider} wrote a call into its text: the server of the model does not read its format of calls.`,
    { retryable: true },
  );
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
