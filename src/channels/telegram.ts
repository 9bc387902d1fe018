import type { Api } from "grammy";
import { DriverError } from "../errors.ts";
import type { ChannelDriver, OutgoingMessage } from "./port.ts";
import { toDriverError } from "./telegram-errors.ts";

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
  throw new DriverError(
    "lasting",
    "Expected a Telegram chat id such as 123456789 or -1001234567890, or a public @name.",
  );
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
