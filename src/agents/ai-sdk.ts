import type * as AiSdk from "ai";
import type { FromSchema } from "json-schema-to-ts";
import type { CallWarning, FinishReason, LanguageModel, LanguageModelUsage, ModelMessage } from "ai";
import type { Agent } from "undici";
import { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL } from "../shared/schema.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "./driver.ts";
import { assertNotAborted, toDriverError } from "./errors.ts";
import { requireModelId, toReasoning } from "./model.ts";

export const remoteSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    baseUrl: { ...HTTP_URL, description: "Its address. Default: the vendor's own." },
    apiKey: { type: "string", description: "Its key; usually ${ENV} or ${file:PATH}." },
    headers: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "Additional headers of every call.",
    },
  },
} as const;

type ProviderOptions = FromSchema<typeof remoteSchema>;

export interface AiSdkOptions {
  /** The provider's name in the config: the part of a model before the slash. */
  name: string;
  provider: ProviderOptions & { kind: "openai" | "anthropic" | "openai-compatible" };
}

type Definition = DriverDefinition<AgentDriver, ProviderOptions>;

export const openai: Definition = { schema: remoteSchema, create: createFor("openai") };

export const anthropic: Definition = { schema: remoteSchema, create: createFor("anthropic") };

export const openaiCompatible: Definition = {
  schema: { ...remoteSchema, required: ["baseUrl"] },
  create: createFor("openai-compatible"),
};

function createFor(kind: AiSdkOptions["provider"]["kind"]): Definition["create"] {
  return (options, { name }) => createAiSdk({ name, provider: { ...options, kind } });
}

/** Runs turns on the models of one provider. The AI SDK and the provider's package are loaded at the first turn. */
export function createAiSdk(options: AiSdkOptions): AgentDriver {
  return {
    name: options.name,
    run: (turn, signal) => run(options, turn, signal),
  };
}

async function run(options: AiSdkOptions, turn: AgentTurn, signal: AbortSignal): Promise<AgentReply> {
  const modelId = requireModelId(options.name, turn.model);
  const { reasoning, warning } = toReasoning(turn.thinking);
  try {
    const { generateText } = await loadSdk();
    const result = await generateText({
      model: await openModel(options, modelId),
      messages: toMessages(turn),
      reasoning,
      abortSignal: signal,
      // The dispatcher retries, so that the run record shows every attempt.
      maxRetries: 0,
      telemetry: { isEnabled: false },
    });
    return toReply(options.name, result, warning === undefined ? [] : [warning]);
  } catch (error) {
    assertNotAborted(options.name, signal);
    throw toRunError(error, options);
  }
}

async function loadSdk(): Promise<typeof AiSdk> {
  const sdk = await import("ai");
  // Warnings go into the run record, not to the console.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return sdk;
}

async function openModel({ name, provider }: AiSdkOptions, modelId: string): Promise<LanguageModel> {
  const settings = { ...toSettings(provider), fetch: fetchWithoutTimeout };
  switch (provider.kind) {
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
      return createOpenAICompatible({ ...settings, name, baseURL: provider.baseUrl ?? "" })(modelId);
    }
  }
}

interface ProviderSettings {
  baseURL: string | undefined;
  apiKey: string;
  headers: Record<string, string> | undefined;
}

function toSettings({ baseUrl, apiKey, headers }: ProviderOptions): ProviderSettings {
  // Without a key the SDK would use one of the environment that the configuration does not name.
  return { baseURL: baseUrl, apiKey: apiKey ?? "", headers };
}

function toMessages(turn: AgentTurn): ModelMessage[] {
  const entries = [...turn.history, { role: "user" as const, text: turn.message }];
  // Providers reject an empty text, and some reject two messages of one role in a row.
  return entries.map(({ role, text }) => ({ role, content: text.trim() === "" ? "(empty)" : text }));
}

function toRunError(error: unknown, { name, provider }: AiSdkOptions): DriverError {
  if (error instanceof DriverError) return error;
  const secrets = [provider.apiKey ?? "", ...Object.values(provider.headers ?? {})];
  return toDriverError(error, { provider: name, secrets });
}

let dispatcher: Promise<Agent> | undefined;

/** Node's `fetch` gives up after five minutes, but a turn's `timeoutSeconds` may be longer. */
async function fetchWithoutTimeout(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  dispatcher ??= import("undici").then((undici) => new undici.Agent({ headersTimeout: 0, bodyTimeout: 0 }));
  const options: RequestInit & { dispatcher: Agent } = { ...init, dispatcher: await dispatcher };
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
  if (retryable !== undefined && text.trim() === "") {
    throw new DriverError(`${provider} ended with "${finishReason}" before it wrote a reply.`, { retryable });
  }
  return {
    text,
    model: `${provider}/${result.response.modelId}`,
    usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens },
    warnings: [
      ...warnings,
      ...(result.warnings ?? []).map(toSentence),
      ...(retryable !== undefined ? [`The reply may be incomplete: it ended with "${finishReason}".`] : []),
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
