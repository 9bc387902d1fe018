import { isChatCompletionBody, LLMock } from "@copilotkit/aimock";

export interface ModelServer {
  /** For a provider's `baseUrl`. */
  baseUrl: string;
  /** Answers every request from now on, whatever its wire format. */
  reply(text: string, extra?: ReplyExtras): void;
  /** Refuses every request from now on. */
  fail(status: number, message: string, retryAfterSeconds?: number): void;
  /** Refuses the next request, and answers all later ones. */
  failOnce(status: number, message: string, thenReply: string): void;
  /** The messages of the last request, oldest first. */
  lastMessages(): { role: string; content: unknown }[];
  close(): Promise<void>;
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
    fail: (status, message, retryAfter) => void mock.clearFixtures().on({}, { error: { message }, status, retryAfter }),
    failOnce(status, message, thenReply) {
      let failed = false;
      mock.clearFixtures().on({}, () => {
        if (failed) return { content: thenReply };
        failed = true;
        return { error: { message }, status };
      });
    },
    lastMessages() {
      const body = mock.getLastRequest()?.body;
      return body && isChatCompletionBody(body) ? body.messages : [];
    },
    close: () => mock.stop(),
  };
}
