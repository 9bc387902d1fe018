import type * as AiSdk from "ai";
import type { CallWarning, FinishReason, LanguageModel, LanguageModelUsage, ModelMessage } from "ai";
import type { FromSchema } from "json-schema-to-ts";
import type { Agent } from "undici";
import { DriverError } from "../errors.ts";
import type { DriverContext, DriverDefinition } from "../plugin.ts";
import { HTTP_URL } from "../shared/json.ts";
import { traceHeaders } from "../telemetry/traces.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "./driver.ts";
import { assertNotAborted, requireModelId, toDriverError, warnOfIncomplete } from "./errors.ts";

export const remoteSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    baseUrl: { ...HTTP_URL, description: "Address of its API. openai and anthropic default to the vendor's own." },
    apiKey: { type: "string", description: "Its key; usually ${ENV} or ${file:PATH}." },
    headers: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "Additional headers of every call.",
    },
  },
} as const;

type RemoteOptions = FromSchema<typeof remoteSchema>;
type Definition = DriverDefinition<AgentDriver, RemoteOptions>;
type Kind = "openai" | "anthropic" | "openai-compatible";

export const openai: Definition = { schema: remoteSchema, create: createFor("openai") };

export const anthropic: Definition = { schema: remoteSchema, create: createFor("anthropic") };

export const openaiCompatible: Definition = {
  schema: { ...remoteSchema, required: ["baseUrl"] },
  create: createFor("openai-compatible"),
};

function createFor(kind: Kind): Definition["create"] {
  return (options, context) => createAiSdk(kind, options, context);
}

/** Runs turns on the models of one provider. The AI SDK and the provider's package are loaded at the first turn. */
export function createAiSdk(
  kind: Kind,
  { baseUrl, apiKey = "", headers = {} }: RemoteOptions,
  { name }: Pick<DriverContext, "name">,
): AgentDriver {
  // Without a key the SDK would use one of the environment that the configuration does not name.
  const settings = { baseURL: baseUrl, apiKey, headers, fetch: fetchWithoutTimeout };
  return {
    name,
    async run(turn, signal) {
      const modelId = requireModelId(name, turn.model);
      const { reasoning, warning } = toReasoning(turn.thinking);
      try {
        const { generateText } = await loadSdk();
        const result = await generateText({
          model: await openModel(modelId),
          messages: toMessages(turn),
          reasoning,
          abortSignal: signal,
          // The dispatcher retries, so that the run record shows every attempt.
          maxRetries: 0,
          telemetry: { isEnabled: false },
        });
        return toReply(name, result, warning === undefined ? [] : [warning]);
      } catch (error) {
        if (error instanceof DriverError) throw error;
        assertNotAborted(name, signal);
        throw toDriverError(error, { provider: name, secrets: [apiKey, ...Object.values(headers)] });
      }
    },
  };

  async function openModel(modelId: string): Promise<LanguageModel> {
    switch (kind) {
      case "openai": {
        const { createOpenAI } = await import("@ai-sdk/openai");
        return createOpenAI(settings)(modelId);
      }
      case "anthropic": {
        const { createAnthropic } = await import("@ai-sdk/anthropic");
        return createAnthropic(settings)(modelId);
      }
      default: {
        const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
        return createOpenAICompatible({ ...settings, name, baseURL: baseUrl ?? "" })(modelId);
      }
    }
  }
}

async function loadSdk(): Promise<typeof AiSdk> {
  const sdk = await import("ai");
  // Warnings go into the run record, not to the console.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return sdk;
}

function toMessages(turn: AgentTurn): ModelMessage[] {
  const entries = [...turn.history, { role: "user" as const, text: turn.message }];
  // Providers reject an empty text, and some reject two messages of one role in a row.
  return entries.map(({ role, text }) => ({ role, content: text.trim() === "" ? "(empty)" : text }));
}

let dispatcher: Promise<Agent> | undefined;

/** Node's `fetch` gives up after five minutes, but a turn's `timeoutSeconds` may be longer. */
async function fetchWithoutTimeout(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  dispatcher ??= import("undici").then((undici) => new undici.Agent({ headersTimeout: 0, bodyTimeout: 0 }));
  const headers = new Headers(init?.headers);
  for (const [name, value] of Object.entries(traceHeaders() ?? {})) headers.set(name, value);
  const options: RequestInit & { dispatcher: Agent } = { ...init, headers, dispatcher: await dispatcher };
  return fetch(input, options);
}

/** The fields of a model's result that make a reply. */
interface ModelResult {
  text: string;
  finishReason: FinishReason;
  usage: LanguageModelUsage;
  warnings: CallWarning[] | undefined;
  response: { modelId: string };
}

/** Whether another attempt may end differently, by the reasons that leave a text incomplete. */
const INCOMPLETE = new Map<FinishReason, boolean>([
  ["length", false],
  ["content-filter", false],
  ["error", true],
  ["interrupted", true],
]);

/** An incomplete text is a reply with a warning. An empty one is a reply only if the model finished by itself. */
export function toReply(provider: string, result: ModelResult, warnings: string[]): AgentReply {
  const { text, finishReason, usage } = result;
  const retryable = INCOMPLETE.get(finishReason);
  const isComplete = retryable === undefined;
  return {
    text,
    model: `${provider}/${result.response.modelId}`,
    usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens },
    warnings: [
      ...warnings,
      ...(result.warnings ?? []).map(toSentence),
      ...(isComplete ? [] : [warnOfIncomplete(provider, { text, reason: finishReason, retryable })]),
    ],
  };
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
