import { createHash } from "node:crypto";
import type * as AiSdk from "ai";
import type { ModelMessage, ToolModelMessage, ToolSet } from "ai";
import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../core/errors.ts";
import type { DriverContext, DriverDefinition } from "../core/ports/driver.ts";
import { HTTP_URL, objectSchema, TEXTS } from "../core/shared/json.ts";
import { toReply } from "./ai-sdk-reply.ts";
import { readAnswers } from "./model-answer.ts";
import type {
  AgentDriver,
  AgentTurn,
  CallOutcome,
  ModelApi,
  ModelFormat,
  ToolDescription,
} from "../core/ports/agent.ts";
import { createCallIds } from "./call-ids.ts";
import { assertNotAborted, requireModelId, toDriverError, withoutSecrets } from "./errors.ts";
import { sendToModel } from "./send-to-model.ts";
import { toReasoning, withoutThinking } from "./thinking.ts";

export const remoteSchema = objectSchema([], {
  baseUrl: { ...HTTP_URL, description: "Address of its API. openai and anthropic default to the vendor's own." },
  apiKey: { type: "string", description: "Its key; usually ${ENV} or ${file:PATH}." },
  headers: {
    ...TEXTS,
    description: "Additional headers of every call.",
  },
});

type RemoteOptions = FromSchema<typeof remoteSchema>;
type ProviderModel = Parameters<typeof AiSdk.wrapLanguageModel>[0]["model"];
type Kind = "openai" | "anthropic" | "openai-compatible";

const FORMATS = { openai: "responses", anthropic: "messages", "openai-compatible": "chat" } as const;

export const openai = define("openai");
export const anthropic = define("anthropic");
export const openaiCompatible = define("openai-compatible", ["baseUrl"]);

function define(kind: Kind, required: string[] = []): DriverDefinition<AgentDriver, RemoteOptions> {
  return {
    schema: { ...remoteSchema, required },
    create: (options, context) => createAiSdk(kind, options, context),
  };
}

/** How many models are kept: without a list of allowed ones, requests may name any. */
const MAX_MODELS = 100;

/**
 * Runs turns on the models of one provider. The AI SDK and the provider's package are loaded at the first turn.
 * `turnHeaders`: further headers of a turn's call.
 */
export function createAiSdk(
  kind: Kind,
  { baseUrl, apiKey = "", headers = {} }: RemoteOptions,
  { name }: Pick<DriverContext, "name">,
  turnHeaders?: (turn: AgentTurn) => Record<string, string>,
): AgentDriver {
  // Without a key the SDK would use one of the environment that the configuration does not name.
  const settings = { baseURL: baseUrl, apiKey, headers, fetch: readAnswers(FORMATS[kind]) };
  const models = new Map<string, ProviderModel>();
  return {
    name,
    modelApi: toModelApi(kind, { baseUrl, apiKey, headers }, name),
    canCall: () => true,
    async run(turn, signal) {
      const modelId = requireModelId(name, turn.model);
      const { reasoning, warning } = toReasoning(turn.thinking);
      try {
        const sdk = await loadSdk();
        const { middleware, requireSameCalls } = createCallIds(name);
        const result = await sdk.generateText({
          model: sdk.wrapLanguageModel({ model: await openModel(modelId), middleware }),
          messages: toMessages(turn, kind),
          tools: turn.tools && toTools(turn.tools, sdk),
          reasoning,
          maxOutputTokens: turn.maxOutputTokens,
          headers: turnHeaders?.(turn),
          providerOptions: kind === "openai" ? toOpenAiOptions(turn) : undefined,
          abortSignal: signal,
          // The dispatcher retries, so that the run record shows every attempt.
          maxRetries: 0,
          telemetry: { isEnabled: false },
        });
        const { finishReason, usage, warnings, response, responseMessages } = result;
        if (turn.tools) requireSameCalls(result);
        const text = kind === "openai-compatible" ? withoutThinking(result.text) : result.text;
        // Without tools there is nobody who could execute a call.
        const toolCalls = turn.tools ? result.toolCalls : [];
        const canCall = turn.tools !== undefined;
        const answer = { text, finishReason, usage, warnings, response, canCall, toolCalls, responseMessages };
        return toReply(name, answer, warning === undefined ? [] : [warning]);
      } catch (error) {
        if (error instanceof DriverError) throw error;
        assertNotAborted(name, signal);
        const hasImages = turn.files?.some(({ isImage }) => isImage) === true;
        throw toDriverError(error, { provider: name, secrets: [apiKey, ...Object.values(headers)], hasImages });
      }
    },
  };

  async function openModel(modelId: string): Promise<ProviderModel> {
    const known = models.get(modelId);
    if (known) return known;
    const model = await createModel(modelId);
    if (models.size >= MAX_MODELS) models.clear();
    models.set(modelId, model);
    return model;
  }

  async function createModel(modelId: string): Promise<ProviderModel> {
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

/** Without `store`, OpenAI keeps what it is sent. The key leads the turns of a session to the same cache. */
function toOpenAiOptions({ sessionKey }: AgentTurn): { openai: { store: false; promptCacheKey: string } } {
  const promptCacheKey = createHash("sha256").update(sessionKey).digest("hex").slice(0, 32);
  return { openai: { store: false, promptCacheKey } };
}

const DEFAULT_URLS = { openai: "https://api.openai.com/v1", anthropic: "https://api.anthropic.com/v1" };
/** Servers with OpenAI's API often have the others too. */
export const API_FORMATS: Record<Kind, readonly ModelFormat[]> = {
  openai: ["chat", "responses"],
  anthropic: ["messages"],
  "openai-compatible": ["chat", "responses", "messages"],
};

function toModelApi(kind: Kind, { baseUrl, apiKey, headers = {} }: RemoteOptions, name: string): ModelApi {
  const base = (baseUrl ?? (kind === "openai-compatible" ? "" : DEFAULT_URLS[kind])).replace(/\/+$/, "");
  const bearer: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
  const credential = kind === "anthropic" ? { "x-api-key": apiKey ?? "", "anthropic-version": "2023-06-01" } : bearer;
  return {
    name,
    formats: API_FORMATS[kind],
    send: (path, { headers: given, body, ...request }) =>
      sendToModel(`${base}/${path}`, {
        ...request,
        body,
        headers: {
          ...(body !== undefined && { "content-type": "application/json" }),
          ...credential,
          ...given,
          ...headers,
        },
      }),
    hide: (text) => withoutSecrets(text, [apiKey ?? "", ...Object.values(headers)]),
  };
}

async function loadSdk(): Promise<typeof AiSdk> {
  const sdk = await import("ai");
  // Warnings go into the run record, not to the console.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return sdk;
}

/** The calls, which the caller executes: none has a function. */
function toTools(tools: ToolDescription[], { jsonSchema }: typeof AiSdk): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [name, { description, inputSchema: jsonSchema(inputSchema) }]),
  );
}

/** Anthropic caches up to a hint: what the next turn of the session, or the next request of this turn, begins with too. */
const CACHE_HINT = { anthropic: { cacheControl: { type: "ephemeral" } } } as const;

function toMessages({ history, message, files = [], tools, exchanges = [] }: AgentTurn, kind: Kind): ModelMessage[] {
  const images = files.filter(({ isImage }) => isImage);
  const parts = images.map(({ bytes: data, type: mediaType }) => ({ type: "file" as const, data, mediaType }));
  const text = orPlaceholder(message);
  const messages: ModelMessage[] = [
    ...history.map((entry) => ({ role: entry.role, content: orPlaceholder(entry.text) })),
    { role: "user", content: parts.length === 0 ? text : [{ type: "text", text }, ...parts] },
    ...exchanges.flatMap(({ answer, results }) => [...(isMessages(answer) ? answer : []), toToolMessage(results)]),
  ];
  if (kind !== "anthropic") return messages;
  const hinted = [history.length - 1, ...(tools ? [messages.length - 1] : [])];
  return messages.map((one, index) => (hinted.includes(index) ? { ...one, providerOptions: CACHE_HINT } : one));
}

/** The SDK checks each of them. */
function isMessages(answer: unknown): answer is ModelMessage[] {
  return Array.isArray(answer);
}

function toToolMessage(results: CallOutcome[]): ToolModelMessage {
  return {
    role: "tool",
    content: results.map(({ toolCallId, name, text, isError }) => ({
      type: "tool-result",
      toolCallId,
      toolName: name,
      output: { type: isError ? "error-text" : "text", value: orPlaceholder(text) },
    })),
  };
}

/** Providers reject an empty text, and some reject two messages of one role in a row. */
function orPlaceholder(text: string): string {
  return text.trim() === "" ? "(empty)" : text;
}
