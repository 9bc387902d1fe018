import type { ChatPostMessageResponse, Logger, WebClient } from "@slack/web-api";
import { DriverError } from "../errors.ts";
import type { ChannelDriver, OutgoingMessage } from "./port.ts";
import { toDriverError } from "./slack-errors.ts";

export interface SlackOptions {
  /** Bot token. Travels in the `Authorization` header only. */
  token: string;
  /** Default: https://slack.com/api/. */
  baseUrl?: string;
}

/** Posts to Slack as a bot. Slack knows no idempotency key for apps: a message whose answer was lost may come twice. */
export function createSlack(options: SlackOptions): ChannelDriver {
  return {
    name: "slack",
    limit: 4000,
    measure: (text) => escape(text).length,
    checkRecipient,
    send: (message, signal) => send(options, message, signal),
  };
}

/** An id or a name. Which there are is Slack's to say. */
const RECIPIENT = /^[#@]?[\p{L}\p{N}_.-]{1,80}$/u;

function checkRecipient(to: string): void {
  if (RECIPIENT.test(to)) return;
  throw new DriverError(
    "lasting",
    "Expected a Slack channel, user or conversation id such as C0123456789, or a #channel-name.",
  );
}

async function send(
  options: SlackOptions,
  message: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  checkRecipient(message.to);
  try {
    const client = await openClient(options, signal);
    const answer: ChatPostMessageResponse = await client.apiCall("chat.postMessage", {
      channel: message.to,
      text: escape(message.text),
      // A preview would show what an untrusted link says of itself, and fetch it.
      unfurl_links: false,
      unfurl_media: false,
    });
    return { messageId: answer.ts };
  } catch (error) {
    if (signal.aborted) throw new DriverError("passing", "The delivery was stopped before Slack answered.");
    throw toDriverError(error);
  }
}

/** A client for one call, since that is how a call can be given its signal. The package is loaded at the first one. */
async function openClient({ token, baseUrl }: SlackOptions, signal: AbortSignal): Promise<WebClient> {
  const slack = await import("@slack/web-api");
  return new slack.WebClient(token, {
    slackApiUrl: baseUrl,
    // Retries and waits are the dispatcher's: it records them, and they survive a restart.
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    fetch: (url, init) => fetch(url, { ...init, signal }),
    logger: silentLogger(slack.LogLevel.ERROR),
  });
}

function silentLogger(level: ReturnType<Logger["getLevel"]>): Logger {
  const ignore = (): void => {};
  return {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: ignore,
    setLevel: ignore,
    setName: ignore,
    getLevel: () => level,
  };
}

/** Slack reads `<…>` as a link or a mention (`<!channel>` pings everyone): the text of a reply must not be able to. */
function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
