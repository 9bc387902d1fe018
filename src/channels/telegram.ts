import type { Api } from "grammy";
import type { FromSchema } from "json-schema-to-ts";
import type { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL, NON_BLANK } from "../shared/schema.ts";
import { type ChannelDriver, recipientCheck } from "./driver.ts";
import { toNoAnswer, toRefusal, toUnreadable } from "./http.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["token"],
  properties: {
    token: { ...NON_BLANK, description: "Bot token, from @BotFather." },
    baseUrl: {
      ...HTTP_URL,
      description: "For tests and a Bot API server of your own. Default: https://api.telegram.org.",
    },
  },
} as const;

type TelegramOptions = FromSchema<typeof schema>;

export const telegram: DriverDefinition<ChannelDriver, TelegramOptions> = { schema, create: createTelegram };

const ADVICE = new Map([
  [400, "Check the recipient, and that the bot is in the chat."],
  [401, "Check channels.telegram.token."],
  [403, "The recipient has to start the bot, or let it into the chat."],
  [404, "Check channels.telegram.token and channels.telegram.baseUrl."],
]);

/**
 * Sends as a Telegram bot. Telegram has no idempotency keys, so a message whose answer was lost may arrive twice. An @name
 * in a text cannot be disabled.
 */
export function createTelegram(options: TelegramOptions): ChannelDriver {
  return {
    name: "telegram",
    limit: 4096,
    // A chat's number, or the public name of a group or channel.
    checkRecipient: recipientCheck(
      /^(-?\d{1,19}|@\w{2,64})$/,
      "a Telegram chat id such as 123456789 or -1001234567890, or a public @name",
    ),
    async send({ to, text }, signal) {
      try {
        const api = await openApi(options, signal);
        // Without `parse_mode` the text is plain. A preview would fetch an untrusted link and show what it says.
        const sent = await api.sendMessage(to, text, { link_preview_options: { is_disabled: true } });
        return { messageId: `${sent.chat.id}:${sent.message_id}` };
      } catch (error) {
        throw toDriverError(error, signal);
      }
    },
  };
}

/** One client per call, since the call's signal is passed through the client's `fetch`. */
async function openApi({ token, baseUrl }: TelegramOptions, signal: AbortSignal): Promise<Api> {
  const grammy = await import("grammy");
  return new grammy.Api(token, {
    apiRoot: baseUrl?.replace(/\/$/, ""),
    fetch: (url: string, init: RequestInit) => fetch(url, { ...init, signal, redirect: "manual" }),
  });
}

/** The fields that the errors of Telegram's client have. https://core.telegram.org/bots/api#making-requests */
interface Failure {
  /** Of an answer with `ok: false`. */
  error_code?: number;
  description?: string;
  parameters?: {
    /** Seconds, of a 429. */
    retry_after?: number;
    /** The new id of a group that became a supergroup. */
    migrate_to_chat_id?: number;
  };
  /** What `fetch` or the reading of its answer threw. */
  error?: unknown;
  message: string;
}

/** The message shows no URL, since the token is part of it. */
export function toDriverError(error: unknown, signal: AbortSignal): DriverError {
  const failure: Failure = error instanceof Error ? error : { message: String(error) };
  if (failure.error_code === undefined) {
    const isReadable = failure.error instanceof Error && !(failure.error instanceof SyntaxError);
    return isReadable ? toNoAnswer("Telegram", failure.error, signal) : toUnreadable("Telegram");
  }
  const { retry_after: seconds, migrate_to_chat_id: newId } = failure.parameters ?? {};
  return toRefusal(
    "Telegram",
    { status: failure.error_code },
    {
      reason: failure.description,
      advice: newId === undefined ? ADVICE.get(failure.error_code) : `The chat has a new id: ${newId}.`,
      retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
    },
  );
}
