import type { ChatPostMessageResponse, Logger, WebClient } from "@slack/web-api";
import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { isRetryableStatus, parseRetryAfter } from "../shared/http-status.ts";
import { HTTP_URL, NON_BLANK } from "../shared/schema.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["token"],
  properties: {
    token: { ...NON_BLANK, description: "Bot token." },
    baseUrl: { ...HTTP_URL, description: "For tests and proxies. Default: https://slack.com/api/." },
  },
} as const;

type SlackOptions = FromSchema<typeof schema>;

export const slack: DriverDefinition<ChannelDriver, SlackOptions> = { schema, create: createSlack };

/** Posts to Slack as a bot. Slack has no idempotency keys for apps, so a message whose answer was lost may come twice. */
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
  throw new DriverError("Expected a Slack channel, user or conversation id such as C0123456789, or a #channel-name.", {
    retryable: false,
  });
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
    if (signal.aborted) throw new DriverError("The delivery was stopped before Slack answered.", { retryable: true });
    throw toDriverError(error);
  }
}

/** A client for one call, since that is how a call can be given its signal. The package is loaded at the first one. */
async function openClient({ token, baseUrl }: SlackOptions, signal: AbortSignal): Promise<WebClient> {
  const { LogLevel, WebClient: Client } = await import("@slack/web-api");
  return new Client(token, {
    slackApiUrl: baseUrl,
    // Retries and waits are the dispatcher's: it records them, and they survive a restart.
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    fetch: (url, init) => fetch(url, { ...init, signal }),
    logger: silentLogger(LogLevel.ERROR),
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

/** What the errors of Slack's client tell, one or two of these each. */
interface Failure {
  /** Seconds, of a 429. */
  retryAfter?: number;
  /** An answer with `ok: false`, which comes under HTTP 200; `retryAfter` in seconds, from its header. */
  data?: { error: unknown; response_metadata?: { retryAfter?: number } };
  /** Any other status than 200. */
  statusCode?: number;
  headers?: Record<string, string>;
  /** No answer came. */
  original?: { message: string; cause?: { message?: string } };
  message: string;
}

/** Refusals that say nothing against the message. https://docs.slack.dev/reference/methods/chat.postMessage */
const PASSING_CODES = new Set([
  "external_channel_migrating",
  "fatal_error",
  "internal_error",
  "rate_limited",
  "ratelimited",
  "request_timeout",
  "service_unavailable",
  "team_added_to_org",
]);

const ADVICE = new Map([
  ["account_inactive", "Check channels.slack.token."],
  ["channel_not_found", "Check the recipient, and that the bot can see it."],
  ["invalid_auth", "Check channels.slack.token."],
  ["is_archived", "The channel is archived."],
  ["missing_scope", "Give the bot the chat:write scope."],
  ["not_authed", "Check channels.slack.token."],
  ["not_in_channel", "Invite the bot to the channel."],
  ["token_revoked", "Check channels.slack.token."],
]);

/** Sorts what a call to Slack failed with by whether another try can help. */
export function toDriverError(error: unknown): DriverError {
  const failure: Failure = error instanceof Error ? error : { message: String(error) };
  if (failure.retryAfter !== undefined) return passing("Slack asked to wait (429).", failure.retryAfter);
  if (failure.data) return fromRefusal(failure.data);
  if (failure.statusCode !== undefined) return fromStatus(failure.statusCode, failure.headers);
  return passing(`Slack gave no answer: ${reasonOf(failure)}.`);
}

function fromRefusal({ error, response_metadata }: NonNullable<Failure["data"]>): DriverError {
  // The client hands an answer that is not JSON over as an error text: a proxy's page, say.
  if (typeof error !== "string" || !/^\w{1,80}$/.test(error)) {
    return passing("Slack's answer could not be read.");
  }
  const message = `Slack refused the message: ${error}. ${ADVICE.get(error) ?? ""}`.trim();
  if (PASSING_CODES.has(error)) return passing(message, response_metadata?.retryAfter);
  return new DriverError(message, { retryable: false });
}

function fromStatus(status: number, headers: Failure["headers"]): DriverError {
  return new DriverError(`Slack answered ${status}.`, {
    retryable: isRetryableStatus(status),
    retryAfterMs: parseRetryAfter(headers?.["retry-after"] ?? null),
  });
}

function reasonOf({ original, message }: Failure): string {
  return original?.cause?.message ?? original?.message ?? message;
}

function passing(message: string, retryAfterSeconds?: number): DriverError {
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
  return new DriverError(message, { retryable: true, retryAfterMs });
}
