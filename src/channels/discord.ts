import type { REST } from "@discordjs/rest";
import { hash } from "node:crypto";
import { DriverError } from "../errors.ts";
import { isRetryableStatus, parseRetryAfter } from "../shared/http-status.ts";
import { isObject } from "../shared/json.ts";
import type { ChannelDriver, OutgoingMessage } from "./driver.ts";
import { toLine, toNoAnswer } from "./http.ts";

export interface DiscordOptions {
  /** Bot token. Travels in the `Authorization` header only. */
  token: string;
  /** Without the version. Default: https://discord.com/api. */
  baseUrl?: string;
}

/** Posts to Discord as a bot. Discord drops a repeat that comes within a few minutes. */
export function createDiscord(options: DiscordOptions): ChannelDriver {
  return {
    name: "discord",
    limit: 2000,
    checkRecipient,
    send: (message, signal) => send(options, message, signal),
  };
}

/** A snowflake: milliseconds since 2015 and some bits, as a decimal number. */
const RECIPIENT = /^\d{15,20}$/;

function checkRecipient(to: string): void {
  if (RECIPIENT.test(to)) return;
  throw new DriverError(
    "Expected the id of a Discord channel, a number such as 175928847299117063 (Developer Mode: Copy Channel ID).",
    { retryable: false },
  );
}

/** The message is shown without previews of its links. */
const SUPPRESS_EMBEDS = 1 << 2;

async function send(
  options: DiscordOptions,
  { to, text, idempotencyKey }: OutgoingMessage,
  signal: AbortSignal,
): Promise<{ messageId?: string }> {
  checkRecipient(to);
  try {
    const rest = await openRest(options, signal);
    const body = {
      content: text,
      nonce: toNonce(idempotencyKey),
      enforce_nonce: true,
      // The text of a reply must not be able to notify anyone.
      allowed_mentions: { parse: [] },
      // A preview would show what an untrusted link says of itself, and fetch it.
      flags: SUPPRESS_EMBEDS,
    };
    return readId(await rest.post(`/channels/${to}/messages`, { body }));
  } catch (error) {
    throw toDriverError(error, signal);
  }
}

/** A client for one call: one that lives on waits for rate limits by itself. The package is loaded at the first one. */
async function openRest({ token, baseUrl }: DiscordOptions, signal: AbortSignal): Promise<REST> {
  const { REST } = await import("@discordjs/rest");
  return new REST({
    ...(baseUrl && { api: baseUrl.replace(/\/$/, "") }),
    // Retries and waits are the dispatcher's: it records them, and they survive a restart.
    retries: 0,
    hashSweepInterval: 0,
    handlerSweepInterval: 0,
    makeRequest: (url, { headers, body }) => postJson(url, { headers, body, signal }),
  }).setToken(token);
}

/** By Node's own `fetch`, whose types are not those of the release that the client comes with. Rejects on a 429. */
async function postJson(
  url: string,
  { headers, body, signal }: { headers: object | undefined; body: unknown; signal: AbortSignal },
): Promise<Response> {
  const response = await fetch(url, {
    method: "POST",
    headers: Object.entries(headers ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    body: String(body),
    signal,
    // Followed, the POST would become a GET.
    redirect: "manual",
  });
  // The client would wait by itself.
  if (response.status === 429) throw await readRateLimit(response);
  return response;
}

/** Of the length that Discord takes. */
function toNonce(idempotencyKey: string): string {
  return hash("sha256", idempotencyKey, "base64url").slice(0, 25);
}

function readId(message: unknown): { messageId: string } {
  if (!isObject(message) || typeof message["id"] !== "string") throw toUnreadable();
  return { messageId: message["id"] };
}

/** What the errors of Discord's client tell. */
interface Failure {
  status?: number;
  /** Discord's own code, beside a 4xx. */
  code?: unknown;
  message: string;
}

/** By status, or by code: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json. */
const ADVICE = new Map<unknown, string>([
  [401, "Check channels.discord.token."],
  [10_003, "Check the recipient: it is a channel's id, not a user's."],
  [50_001, "Let the bot see the channel."],
  [50_007, "The recipient takes no messages from the bot."],
  [50_013, "Give the bot the permission to send messages in the channel."],
]);

/** Sorts what a call to Discord failed with by whether another try can help. */
export function toDriverError(error: unknown, signal: AbortSignal): DriverError {
  if (error instanceof DriverError) return error;
  const failure: Failure = error instanceof Error ? error : { message: String(error) };
  if (failure.status !== undefined) return fromStatus(failure.status, failure);
  if (error instanceof SyntaxError) return toUnreadable();
  return toNoAnswer("Discord", error, signal);
}

/** For a 429. Its body is the more exact one about the time, its header what a proxy sends. */
export async function readRateLimit(response: Response): Promise<DriverError> {
  const body: unknown = await response.json().catch(() => undefined);
  const seconds = isObject(body) ? body["retry_after"] : undefined;
  return new DriverError("Discord asked to wait (429).", {
    retryable: true,
    retryAfterMs:
      typeof seconds === "number" ? Math.ceil(seconds * 1000) : parseRetryAfter(response.headers.get("retry-after")),
  });
}

/** For an answer of anything but Discord: a proxy's page, say. */
function toUnreadable(): DriverError {
  return new DriverError("Discord's answer could not be read.", { retryable: true });
}

function fromStatus(status: number, { code, message }: Failure): DriverError {
  const reason = toLine(message);
  const sentence = `Discord answered ${status}${reason && `: ${reason}`}.`;
  const advice = ADVICE.get(status) ?? ADVICE.get(code) ?? "";
  return new DriverError(`${sentence} ${advice}`.trim(), { retryable: isRetryableStatus(status) });
}
