import { isObject } from "../config/is-object.ts";
import { DriverError } from "../errors.ts";
import { parseRetryAfter, sortStatus, toLine, toNoAnswer } from "./http.ts";

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
  return new DriverError("passing", "Discord asked to wait (429).", {
    retryAfterMs:
      typeof seconds === "number"
        ? Math.ceil(seconds * 1000)
        : parseRetryAfter(response.headers.get("retry-after")),
  });
}

/** For an answer of anything but Discord: a proxy's page, say. */
export function toUnreadable(): DriverError {
  return new DriverError("passing", "Discord's answer could not be read.");
}

function fromStatus(status: number, { code, message }: Failure): DriverError {
  const reason = toLine(message);
  const sentence = `Discord answered ${status}${reason && `: ${reason}`}.`;
  const advice = ADVICE.get(status) ?? ADVICE.get(code) ?? "";
  return new DriverError(sortStatus(status), `${sentence} ${advice}`.trim());
}
