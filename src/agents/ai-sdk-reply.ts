import type { CallWarning, FinishReason, LanguageModelUsage, ModelMessage } from "ai";
import { DriverError } from "../core/errors.ts";
import type { AgentReply } from "../core/ports/agent.ts";
import { warnOfIncomplete } from "./errors.ts";

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

/** How the formats of open models begin a call. A server that does not read the format leaves it in the text. */
const CALL =
  /^[ \t]*(?:<(?:[\w-]+:)?tool_calls?>|<function_call>|<function=[\w.-]+>|<invoke name=|<\|tool_calls?(?:_section)?_begin\|>|<\|python_tag\|>|\[TOOL_CALLS\])/;
const FENCE = /^[ \t]*(?:```|~~~)/;

/**
 * The text of an answer before a call that the model wrote into it; undefined if there is none. What follows such a call is
 * made up: the model has had no result. Within a fence it is an example.
 */
export function findWrittenCall(text: string): { before: string } | undefined {
  let isFenced = false;
  let start = 0;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) isFenced = !isFenced;
    else if (!isFenced && CALL.test(line)) return { before: text.slice(0, start).trim() };
    start += line.length + 1;
  }
  return undefined;
}
