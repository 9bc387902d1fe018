import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { LanguageModelMiddleware, ModelMessage } from "ai";
import { DriverError } from "../core/errors.ts";
import { parseJson } from "../core/shared/json.ts";

type WrapGenerate = NonNullable<LanguageModelMiddleware["wrapGenerate"]>;
type Answered = Awaited<ReturnType<WrapGenerate>>;
type Part = Answered["content"][number];
type ProviderCall = Extract<Part, { type: "tool-call" }>;

/** An answer as the SDK reads it. */
interface SdkAnswer {
  toolCalls: { toolCallId: string; toolName: string; input: unknown }[];
  responseMessages: ModelMessage[];
}

interface CallIds {
  middleware: LanguageModelMiddleware;
  /** Throws a `DriverError` if the calls are not those of the provider's answer. */
  requireSameCalls(answer: SdkAnswer): void;
}

/**
 * Gives each call of an answer an id of its own. The SDK finds a call by its id, and some endpoints send the same one for
 * several calls, or none. An id that no earlier call of the turn has stays as it is.
 */
export function createCallIds(provider: string): CallIds {
  let given: ProviderCall[] = [];
  const wrapGenerate: WrapGenerate = async ({ doGenerate, params }) => {
    const answered = await doGenerate();
    const used = new Set(params.prompt.flatMap(({ content }) => listIds(content)));
    const content = answered.content.map((part) => (part.type === "tool-call" ? withOwnId(part, used) : part));
    given = content.filter((part) => part.type === "tool-call");
    return { ...answered, content };
  };
  return {
    middleware: { specificationVersion: "v4", wrapGenerate },
    requireSameCalls({ toolCalls, responseMessages }) {
      const isSame =
        toolCalls.length === given.length &&
        given.every((call, index) => isDeepStrictEqual(toCall(call), pick(toolCalls[index])));
      const ids = responseMessages.flatMap(({ role, content }) => (role === "assistant" ? listIds(content) : []));
      if (
        isSame &&
        isDeepStrictEqual(
          ids,
          given.map(({ toolCallId }) => toolCallId),
        )
      )
        return;
      throw new DriverError(`The calls in an answer of ${provider} could not be told apart, and none was executed.`, {
        retryable: true,
      });
    },
  };
}

function listIds(content: string | readonly object[]): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) =>
    "type" in part && part.type === "tool-call" && "toolCallId" in part ? [String(part.toolCallId)] : [],
  );
}

function withOwnId(call: ProviderCall, used: Set<string>): ProviderCall {
  let id = call.toolCallId.trim();
  // Nine letters and digits are an id for every provider.
  while (id === "" || used.has(id)) id = randomUUID().replaceAll("-", "").slice(0, 9);
  used.add(id);
  return { ...call, toolCallId: id };
}

function toCall({ toolCallId, toolName, input }: ProviderCall): SdkAnswer["toolCalls"][number] {
  const parsed = input.trim() === "" ? {} : parseJson(input);
  // Arguments that are no JSON are kept as text, and refused by the rules of calls.
  return { toolCallId, toolName, input: parsed === undefined ? input : parsed };
}

function pick(call: SdkAnswer["toolCalls"][number] | undefined): unknown {
  return call && { toolCallId: call.toolCallId, toolName: call.toolName, input: call.input };
}
