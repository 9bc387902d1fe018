import type * as AiSdk from "ai";
import type { CallWarning, FinishReason, LanguageModel, LanguageModelUsage, ModelMessage } from "ai";
import type { Agent } from "undici";
import type { Provider } from "../config/schema/generated.ts";
import { DriverError } from "../errors.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "./driver.ts";
import { toDriverError } from "./errors.ts";
import { requireModelId, toReasoning } from "./model.ts";

export interface AiSdkOptions {
  /** The provider's name in the config: the part of a model before the slash. */
  name: string;
  provider: Provider;
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
      // The dispatcher retries, so that every try stands in the run record.
      maxRetries: 0,
      telemetry: { isEnabled: false },
    });
    return toReply(options.name, result, warning === undefined ? [] : [warning]);
  } catch (error) {
    throw toRunError(error, options, signal);
  }
}

async function loadSdk(): Promise<typeof AiSdk> {
  const sdk = await import("ai");
  // Its warnings go into the run record, not to the console.
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

function toSettings({ baseUrl, apiKey, headers }: Provider): ProviderSettings {
  // An empty key rather than none: else the SDK takes one from the environment that the config does not name.
  return { baseURL: baseUrl, apiKey: apiKey ?? "", headers };
}

function toMessages(turn: AgentTurn): ModelMessage[] {
  const entries = [...turn.history, { role: "user" as const, text: turn.message }];
  // Providers refuse an empty text, and some refuse two messages of one role in a row: an empty one keeps its place.
  return entries.map(({ role, text }) => ({ role, content: text.trim() === "" ? "(empty)" : text }));
}

function toRunError(error: unknown, { name, provider }: AiSdkOptions, signal: AbortSignal): DriverError {
  if (error instanceof DriverError) return error;
  if (signal.aborted) return new DriverError(`The run was stopped before ${name} answered.`, { retryable: true });
  const secrets = [provider.apiKey ?? "", ...Object.values(provider.headers ?? {})];
  return toDriverError(error, { provider: name, secrets });
}

let dispatcher: Promise<Agent> | undefined;

/** `fetch` without the five minutes after which Node's own gives up: the turn's `timeoutSeconds` may allow more. */
async function fetchWithoutTimeout(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  dispatcher ??= import("undici").then((undici) => new undici.Agent({ headersTimeout: 0, bodyTimeout: 0 }));
  const options: RequestInit & { dispatcher: Agent } = { ...init, dispatcher: await dispatcher };
  return fetch(input, options);
}

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
  const retryable = !CUT_SHORT_AGAIN.has(reason);
  return new DriverError(`${provider} ended with "${reason}" before it wrote a reply.`, { retryable });
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
