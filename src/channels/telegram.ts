import type { Api } from "grammy";
import { DriverError } from "../errors.ts";
import { isRetryableStatus } from "../shared/http-status.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";
import { toLine, toNoAnswer } from "./http.ts";

export interface TelegramOptions {
  /** Bot token. It travels in the path of the request, as Telegram wants it, so the address is never told. */
  token: string;
  /** Default: https://api.telegram.org. */
  baseUrl?: string;
}

/**
 * Sends as a Telegram bot. Telegram knows no idempotency key: a message whose answer was lost may come twice. It cannot be
 * told to leave an @name in a text alone either.
 */
export function createTelegram(options: TelegramOptions): ChannelDriver {
  return {
    name: "telegram",
    limit: 4096,
    checkRecipient,
    send: (message, signal) => send(options, message, signal),
  };
}

/** A chat's number, or the public name of a group or channel. Which there are is Telegram's to say. */
const RECIPIENT = /^(-?\d{1,19}|@\w{2,64})$/;

function checkRecipient(to: string): void {
  if (RECIPIENT.test(to)) return;
  throw new DriverError("Expected a Telegram chat id such as 123456789 or -1001234567890, or a public @name.", {
    retryable: false,
  });
}

async function send(
  options: TelegramOptions,
  { to, text }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  checkRecipient(to);
  try {
    const api = await openApi(options, signal);
    // Without a `parse_mode` the text is taken as it is.
    const sent = await api.sendMessage(to, text, {
      // A preview would show what an untrusted link says of itself, and fetch it.
      link_preview_options: { is_disabled: true },
    });
    return { messageId: String(sent.message_id) };
  } catch (error) {
    throw toDriverError(error, signal);
  }
}

/** A client for one call, since its `fetch` is how a call is given its signal. The package is loaded at the first one. */
async function openApi({ token, baseUrl }: TelegramOptions, signal: AbortSignal): Promise<Api> {
  const grammy = await import("grammy");
  return new grammy.Api(token, {
    apiRoot: baseUrl?.replace(/\/$/, ""),
    fetch: (url: string, init: RequestInit) => fetch(url, { ...init, signal, redirect: "manual" }),
  });
}

/** What the errors of Telegram's client tell. */
interface Failure {
  /** An answer with `ok: false`. https://core.telegram.org/bots/api#making-requests */
  error_code?: number;
  description?: string;
  parameters?: {
    /** Seconds, of a 429. */
    retry_after?: number;
    /** The id that a group goes by since it became a supergroup. */
    migrate_to_chat_id?: number;
  };
  /** What `fetch` or the reading of its answer threw. */
  error?: unknown;
  message: string;
}

const ADVICE = new Map([
  [400, "Check the recipient, and that the bot is in the chat."],
  [401, "Check channels.telegram.token."],
  [403, "The recipient has to start the bot, or let it into the chat."],
  [404, "Check channels.telegram.token and channels.telegram.baseUrl."],
]);

/** Sorts what a call to Telegram failed with by whether another try can help. The message holds no address: the token is in it. */
export function toDriverError(error: unknown, signal: AbortSignal): DriverError {
  const failure: Failure = error instanceof Error ? error : { message: String(error) };
  if (failure.error_code !== undefined) return fromRefusal(failure.error_code, failure);
  // What answered was not Telegram: a proxy, say.
  if (!(failure.error instanceof Error) || failure.error instanceof SyntaxError) {
    return new DriverError("Telegram's answer could not be read.", { retryable: true });
  }
  return toNoAnswer("Telegram", failure.error, signal);
}

function fromRefusal(status: number, { description, parameters = {} }: Failure): DriverError {
  const { retry_after: seconds, migrate_to_chat_id: newId } = parameters;
  const advice = newId === undefined ? ADVICE.get(status) : `The chat has a new id: ${newId}.`;
  const reason = toLine(description);
  const sentence = `Telegram answered ${status}${reason && `: ${reason}`}.`;
  return new DriverError(`${sentence} ${advice ?? ""}`.trim(), {
    retryable: isRetryableStatus(status),
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  });
}
