import type { REST } from "@discordjs/rest";
import type { FromSchema } from "json-schema-to-ts";
import { hash } from "node:crypto";
import { codeOf, DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { HTTP_URL, isObject, NON_BLANK } from "../shared/json.ts";
import { type ChannelDriver, keepTyping, recipientCheck } from "./driver.ts";
import { toNoAnswer, toRefusal, toUnreadable } from "./http.ts";
import { MARKDOWN, renderMarkdown } from "./markdown.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  required: ["token"],
  properties: {
    token: { ...NON_BLANK, description: "Bot token." },
    baseUrl: {
      ...HTTP_URL,
      description: "For tests and proxies, without the version. Default: https://discord.com/api.",
    },
  },
} as const;

type DiscordOptions = FromSchema<typeof schema>;

export const discord: DriverDefinition<ChannelDriver, DiscordOptions> = { schema, create: createDiscord };

/** A Discord message flag: no previews of links. */
const SUPPRESS_EMBEDS = 1 << 2;

/** By status or by code: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json. */
const UNKNOWN_MESSAGE = 10_008;

/** Discord shows a typing notice for ten seconds. */
const TYPING_MS = 9000;

const LIMIT = 2000;

const ADVICE = new Map<unknown, string>([
  [401, "Check channels.discord.token."],
  [10_003, "Check the recipient: it is a channel's id, not a user's."],
  [50_001, "Let the bot see the channel."],
  [50_007, "The recipient accepts no messages from the bot."],
  [50_013, "Give the bot the permission to send messages in the channel."],
]);

/** Posts to Discord as a bot. Discord ignores a repeat that arrives within a few minutes. */
export function createDiscord(options: DiscordOptions): ChannelDriver {
  return {
    name: "discord",
    limit: LIMIT,
    checkRecipient: recipientCheck(
      // A snowflake: milliseconds since 2015 and some bits, as a decimal number.
      /^\d{15,20}(?::\d{15,20})?$/,
      "the id of a Discord channel, a number such as 175928847299117063 (Developer Mode: Copy Channel ID); with : and the " +
        "id of a message, an answer to it",
    ),
    addressOf: (to) => toPlace(to).channel,
    canUpdate: true,
    async send({ to, text, format, idempotencyKey, replaces }, signal) {
      const { channel, message: repliedTo } = toPlace(to);
      const content = {
        content: format === "markdown" ? await renderMarkdown(text, MARKDOWN, LIMIT) : text,
        // The text of a reply must not notify anyone.
        allowed_mentions: { parse: [] },
        // A preview would fetch an untrusted link and show what it says.
        flags: SUPPRESS_EMBEDS,
      };
      try {
        const rest = await openRest(options, signal);
        if (replaces && (await edit(rest, `/channels/${channel}/messages/${replaces}`, content))) {
          return { messageId: replaces };
        }
        const message = await rest.post(`/channels/${channel}/messages`, {
          body: {
            ...content,
            // Discord's limit for a nonce is 25 characters.
            nonce: hash("sha256", idempotencyKey, "base64url").slice(0, 25),
            enforce_nonce: true,
            // A message that was deleted meanwhile is answered in the channel.
            ...(repliedTo && { message_reference: { message_id: repliedTo, fail_if_not_exists: false } }),
          },
        });
        if (!isObject(message) || typeof message["id"] !== "string") throw toUnreadable("Discord");
        return { messageId: message["id"] };
      } catch (error) {
        throw toDriverError(error, signal);
      }
    },
    startWorking: (to, started) =>
      keepTyping(async (signal) => (await openRest(options, signal)).post(`/channels/${toPlace(to).channel}/typing`), {
        everyMs: TYPING_MS,
        signal: started,
      }),
  };
}

/** `channel:message` answers a message. */
function toPlace(to: string): { channel: string; message?: string } {
  const [channel = "", message] = to.split(":", 2);
  return { channel, message };
}

/** False if the message is gone. */
async function edit(rest: REST, route: `/${string}`, body: object): Promise<boolean> {
  try {
    await rest.patch(route, { body });
    return true;
  } catch (error) {
    if (codeOf(error) === UNKNOWN_MESSAGE) return false;
    throw error;
  }
}

/** One client per call, since a client that is kept waits for rate limits by itself. */
async function openRest({ token, baseUrl }: DiscordOptions, signal: AbortSignal): Promise<REST> {
  const { REST } = await import("@discordjs/rest");
  return new REST({
    ...(baseUrl && { api: baseUrl.replace(/\/$/, "") }),
    // The dispatcher retries: it records the attempts, and they survive a restart.
    retries: 0,
    hashSweepInterval: 0,
    handlerSweepInterval: 0,
    makeRequest: (url, { method, headers, body }) => request(url, { method, headers, body, signal }),
  }).setToken(token);
}

/** Uses Node's `fetch`, whose types differ from those of the client's own. Rejects on a 429. */
async function request(
  url: string,
  {
    method,
    headers,
    body,
    signal,
  }: { method: string | undefined; headers: object | undefined; body: unknown; signal: AbortSignal },
): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers: Object.entries(headers ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    body: typeof body === "string" ? body : undefined,
    signal,
    // A followed redirect would turn a POST into a GET.
    redirect: "manual",
  });
  // The client would wait by itself.
  if (response.status === 429) throw await readRateLimit(response);
  return response;
}

/** The body has the exact time. A proxy's answer may have only the header. */
export async function readRateLimit(response: Response): Promise<DriverError> {
  const body: unknown = await response.json().catch(() => undefined);
  const seconds = isObject(body) ? body["retry_after"] : undefined;
  return toRefusal("Discord", response, {
    retryAfterMs: typeof seconds === "number" ? Math.ceil(seconds * 1000) : undefined,
  });
}

/** The fields that the errors of Discord's client have. */
interface Failure {
  status?: number;
  /** Discord's own code of a 4xx. */
  code?: unknown;
  message: string;
}

export function toDriverError(error: unknown, signal: AbortSignal): DriverError {
  if (error instanceof DriverError) return error;
  const { status, code, message }: Failure = error instanceof Error ? error : { message: String(error) };
  if (status !== undefined) {
    return toRefusal("Discord", { status }, { reason: message, advice: ADVICE.get(status) ?? ADVICE.get(code) });
  }
  if (error instanceof SyntaxError) return toUnreadable("Discord");
  return toNoAnswer("Discord", error, signal);
}
