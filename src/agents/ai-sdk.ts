import type * as AiSdk from "ai";
import type { LanguageModel, ModelMessage } from "ai";
import type { Provider } from "../config/generated.ts";
import { DriverError } from "../errors.ts";
import { requireModelId } from "./model-id.ts";
import { toReply } from "./model-reply.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "./port.ts";
import { toDriverError } from "./provider-errors.ts";
import { toReasoning } from "./thinking.ts";

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
  const { patientFetch } = await import("./patient-fetch.ts");
  const settings = { ...toSettings(provider), fetch: patientFetch };
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
  if (signal.aborted) return new DriverError("passing", `The run was stopped before ${name} answered.`);
  const secrets = [provider.apiKey ?? "", ...Object.values(provider.headers ?? {})];
  return toDriverError(error, { provider: name, secrets });
}
