import { toObject } from "../../src/core/shared/json.ts";
import { isChatCompletionBody, type JournalEntry, LLMock } from "@copilotkit/aimock";

export interface ModelServer {
  /** For a provider's `baseUrl`. */
  baseUrl: string;
  /** Answers every request from now on, whatever its wire format. */
  reply(text: string, extra?: ReplyExtras): void;
  /** Refuses every request from now on. */
  fail(status: number, message: string, retryAfterSeconds?: number, code?: string): void;
  /** Asks for a tool, with this text beside the call, in answer to every request from now on. */
  callTool(text?: string): void;
  /** Answers each request from now on by its messages. */
  answer(respond: (messages: { role: string; content: unknown }[]) => ScriptedAnswer | Promise<ScriptedAnswer>): void;
  /** Refuses the next request, and answers all later ones. */
  failOnce(status: number, message: string, thenReply: string): void;
  /** Refuses a prompt with more messages than these, or longer ones, as too long, and answers others. */
  limit(prompt: { messages?: number; characters?: number }, thenReply: string): void;
  /** The body of each request, oldest first, in the wire format of its endpoint as far as the server keeps it. */
  bodies(): unknown[];
  /** The model of each request that names one. */
  models(): string[];
  /** The messages of each request, oldest first. */
  conversations(): { role: string; content: unknown }[][];
  /** The messages of the last request, oldest first. */
  lastMessages(): { role: string; content: unknown }[];
  close(): Promise<void>;
}

/** The text of a model, the calls that it asks for, or both. */
interface ScriptedAnswer {
  text?: string;
  calls?: { id?: string; name: string; arguments: unknown }[];
}

interface ReplyExtras {
  /** OpenAI's name: `length`, `content_filter`. */
  finishReason?: string;
  model?: string;
  /** Called with the message to answer; the answer waits for the returned promise. */
  hold?(message: string): Promise<void> | undefined;
}

/** Starts aimock on a free loopback port: it speaks OpenAI's chat and responses formats, and Anthropic's. */
export async function startModels(): Promise<ModelServer> {
  const mock = await LLMock.create({ port: 0, host: "127.0.0.1" });
  return {
    baseUrl: `${mock.url}/v1`,
    reply(text, { hold, ...extra } = {}) {
      mock.clearFixtures().on({}, async ({ messages }) => {
        await hold?.(JSON.stringify(messages.at(-1)?.content));
        return { content: text, ...extra };
      });
    },
    fail(status, message, retryAfter, code) {
      mock.clearFixtures().on({}, { error: { message, code }, status, retryAfter });
    },
    callTool(content) {
      const toolCalls = [{ name: "restart", arguments: "{}" }];
      mock.clearFixtures().on({}, content === undefined ? { toolCalls } : { content, toolCalls });
    },
    answer(respond) {
      mock.clearFixtures().on({}, async ({ messages }) => {
        const { text: content, calls = [] } = await respond(messages);
        const toolCalls = calls.map(({ arguments: args, ...call }) => ({ ...call, arguments: JSON.stringify(args) }));
        if (toolCalls.length === 0) return { content: content ?? "" };
        return content === undefined ? { toolCalls } : { content, toolCalls };
      });
    },
    failOnce(status, message, thenReply) {
      let failed = false;
      mock.clearFixtures().on({}, () => {
        if (failed) return { content: thenReply };
        failed = true;
        return { error: { message }, status };
      });
    },
    limit({ messages: maxMessages = Infinity, characters = Infinity }, thenReply) {
      mock
        .clearFixtures()
        .on({}, ({ messages }) =>
          messages.length > maxMessages || JSON.stringify(messages).length > characters
            ? { error: { message: "It is too long.", code: "context_length_exceeded" }, status: 400 }
            : { content: thenReply },
        );
    },
    bodies: () => mock.getRequests().map(({ body }) => body),
    models: () =>
      mock
        .getRequests()
        .flatMap(({ body }) => toObject(body)["model"] ?? [])
        .map(String),
    conversations: () => mock.getRequests().map(({ body }) => messagesOf(body)),
    lastMessages: () => messagesOf(mock.getLastRequest()?.body),
    close: () => mock.stop(),
  };
}

function messagesOf(body: JournalEntry["body"] | undefined): { role: string; content: unknown }[] {
  return body && isChatCompletionBody(body) ? body.messages : [];
}
