import type { ChatPostMessageResponse, Logger, WebClient } from "@slack/web-api";
import type { FromSchema } from "json-schema-to-ts";
import { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL, NON_BLANK } from "../shared/json.ts";
import { type ChannelDriver, recipientCheck } from "./driver.ts";
import { renderMarkdown, SLACK } from "./markdown.ts";
import { toCodeRefusal, toNoAnswer, toRefusal, toUnreadable } from "./http.ts";

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

/** Codes that say nothing against the message. https://docs.slack.dev/reference/methods/chat.postMessage */
const RETRYABLE_CODES = new Set([
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

/** Posts to Slack as a bot. Slack has no idempotency keys for apps, so a message whose answer was lost may come twice. */
export function createSlack(options: SlackOptions): ChannelDriver {
  /** Calls methods of the API. */
  async function call(
    work: (client: WebClient) => Promise<{ messageId?: string }>,
    signal: AbortSignal,
  ): Promise<{ messageId?: string }> {
    try {
      return await work(await openClient(options, signal));
    } catch (error) {
      throw signal.aborted ? toNoAnswer("Slack", error, signal) : toDriverError(error);
    }
  }

  return {
    name: "slack",
    limit: 4000,
    measure: (text) => escape(text).length,
    checkRecipient: recipientCheck(
      /^[#@]?[\p{L}\p{N}_.-]{1,80}(?::\d{1,12}\.\d{1,9})?$/u,
      "a Slack channel, user or conversation id such as C0123456789, or a #channel-name; with :1712345678.000100 a thread",
    ),
    addressOf: (to) => toPlace(to).channel,
    canUpdate: true,
    async send({ to, text, format, replaces }, signal) {
      const content = {
        text: format === "markdown" ? await renderMarkdown(text, SLACK) : escape(text),
        // A preview would fetch an untrusted link and show what it says.
        unfurl_links: false,
        unfurl_media: false,
      };
      return call(async (client) => {
        const earlier = replaces && toPlace(replaces);
        const edited = earlier && (await update(client, { channel: earlier.channel, ts: earlier.ts, ...content }));
        if (edited) return { messageId: replaces };
        const { channel, ts } = toPlace(to);
        const answer: ChatPostMessageResponse = await client.apiCall("chat.postMessage", {
          channel,
          thread_ts: ts,
          ...content,
        });
        return { messageId: `${answer.channel}:${answer.ts}` };
      }, signal);
    },
    async startWorking(to, signal) {
      const { channel, ts: timestamp } = toPlace(to);
      // A channel is no message that could have a reaction.
      if (timestamp === undefined) return async () => {};
      const mark = { channel, timestamp, name: "eyes" };
      await call(async (client) => {
        await client.apiCall("reactions.add", mark).catch(ignoreCode("already_reacted"));
        return {};
      }, signal);
      return async () => {
        const timeout = AbortSignal.timeout(MARK_TIMEOUT_MS);
        await call(async (client) => {
          await client.apiCall("reactions.remove", mark).catch(ignoreCode("no_reaction"));
          return {};
        }, timeout);
      };
    },
  };
}

const MARK_TIMEOUT_MS = 10_000;

/** `C0123:1712345678.000100` is a thread, or a message. */
function toPlace(to: string): { channel: string; ts?: string } {
  const [channel = "", ts] = to.split(":", 2);
  return { channel, ts };
}

/** False if the message cannot be edited any more. */
async function update(client: WebClient, message: Record<string, unknown>): Promise<boolean> {
  const codes = ["message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found"];
  const answer = await client.apiCall("chat.update", message).catch(ignoreCode(...codes));
  return answer !== undefined;
}

function ignoreCode(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    const { data }: Failure = error instanceof Error ? error : { message: "" };
    if (typeof data?.error !== "string" || !codes.includes(data.error)) throw error;
  };
}

/** One client per call, since the call's signal is passed through the client's `fetch`. */
async function openClient({ token, baseUrl }: SlackOptions, signal: AbortSignal): Promise<WebClient> {
  const { LogLevel, WebClient } = await import("@slack/web-api");
  return new WebClient(token, {
    slackApiUrl: baseUrl,
    // The dispatcher retries: it records the attempts, and they survive a restart.
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

/** Slack reads `<…>` as a link or a mention: with `<!channel>` a reply could notify everyone. */
function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The fields that the errors of Slack's client have. */
interface Failure {
  /** Seconds, of a 429. */
  retryAfter?: number;
  /** The error of an answer with `ok: false`, which has HTTP status 200. */
  data?: { error: unknown; response_metadata?: { retryAfter?: number } };
  /** A status other than 200. */
  statusCode?: number;
  headers?: Record<string, string>;
  /** There was no answer. */
  original?: { message: string; cause?: { message?: string } };
  message: string;
}

export function toDriverError(error: unknown): DriverError {
  const { retryAfter, data, statusCode, headers, original, message }: Failure =
    error instanceof Error ? error : { message: String(error) };
  if (retryAfter !== undefined) return toRefusal("Slack", { status: 429 }, { retryAfterMs: retryAfter * 1000 });
  if (data) return fromData(data);
  if (statusCode !== undefined) return toRefusal("Slack", { status: statusCode, headers: new Headers(headers) });
  const reason = original?.cause?.message ?? original?.message ?? message;
  return new DriverError(`Slack gave no answer: ${reason}.`, { retryable: true });
}

function fromData({ error, response_metadata }: NonNullable<Failure["data"]>): DriverError {
  // For an answer that is not JSON, a proxy's page for example, the client gives its text.
  if (typeof error !== "string" || !/^\w{1,80}$/.test(error)) return toUnreadable("Slack");
  const retryAfter = response_metadata?.retryAfter;
  return toCodeRefusal("Slack", error, {
    advice: ADVICE.get(error),
    retryable: RETRYABLE_CODES.has(error),
    retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000,
  });
}
