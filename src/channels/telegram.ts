import type { Api } from "grammy";
import type { FromSchema } from "json-schema-to-ts";
import type { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL, NON_BLANK } from "../shared/json.ts";
import { type ChannelDriver, keepTyping, recipientCheck } from "./driver.ts";
import { toNoAnswer, toRefusal, toUnreadable } from "./http.ts";
import { renderMarkdown, TELEGRAM } from "./markdown.ts";

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

const LIMIT = 4096;

/** Telegram shows a typing notice for five seconds. */
const TYPING_MS = 4500;

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
    limit: LIMIT,
    // A chat's number, or the public name of a group or channel.
    checkRecipient: recipientCheck(
      /^(-?\d{1,19}|@\w{2,64})(?:\/\d{1,10})?(?::\d{1,10})?$/,
      "a Telegram chat id such as 123456789 or -1001234567890, or a public @name; with /7 a topic, and with :45 an answer " +
        "to a message",
    ),
    addressOf: (to) => toPlace(to).chat,
    canUpdate: true,
    async send({ to, text, format, replaces }, signal) {
      const { chat, topic, message } = toPlace(to);
      const isMarkdown = format === "markdown";
      const content = isMarkdown ? await renderMarkdown(text, TELEGRAM, LIMIT) : text;
      const common = {
        // Without `parse_mode` the text is plain.
        ...(isMarkdown && { parse_mode: "HTML" as const }),
        // A preview would fetch an untrusted link and show what it says.
        link_preview_options: { is_disabled: true },
      };
      try {
        const api = await openApi(options, signal);
        if (replaces && (await edit(() => api.editMessageText(...toIds(replaces), content, common)))) {
          return { messageId: replaces };
        }
        const sent = await api.sendMessage(chat, content, {
          ...common,
          ...(topic && { message_thread_id: Number(topic) }),
          ...(message && { reply_parameters: { message_id: Number(message), allow_sending_without_reply: true } }),
        });
        return { messageId: `${sent.chat.id}:${sent.message_id}` };
      } catch (error) {
        throw toDriverError(error, signal);
      }
    },
    startWorking(to, started) {
      const { chat, topic } = toPlace(to);
      const more = topic ? { message_thread_id: Number(topic) } : {};
      return keepTyping(async (signal) => (await openApi(options, signal)).sendChatAction(chat, "typing", more), {
        everyMs: TYPING_MS,
        signal: started,
      });
    },
  };
}

/** `chat`, `chat/topic`, `chat:message` or `chat/topic:message`. */
function toPlace(to: string): { chat: string; topic?: string; message?: string } {
  const [, chat = to, topic, message] = /^([^/:]+)(?:\/(\d+))?(?::(\d+))?$/.exec(to) ?? [];
  return { chat, topic, message };
}

function toIds(messageId: string): [chat: string, message: number] {
  const { chat, message } = toPlace(messageId);
  return [chat, Number(message)];
}

/** False if the message is gone or too old. A text that is there already counts as edited. */
async function edit(change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change();
    return true;
  } catch (error) {
    const { description = "" }: Failure = error instanceof Error ? error : { message: "" };
    if (description.includes("message is not modified")) return true;
    if (/message to edit not found|message can't be edited/.test(description)) return false;
    throw error;
  }
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
  /** The error of an answer with `ok: false`. */
  error_code?: number;
  description?: string;
  parameters?: {
    /** Seconds, of a 429. */
    retry_after?: number;
    /** The new id of a group that became a supergroup. */
    migrate_to_chat_id?: number;
  };
  /** The error of `fetch` or of reading its answer. */
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
