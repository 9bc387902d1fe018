import { DriverError } from "../errors.ts";
import { sortStatus, toLine, toNoAnswer } from "./http.ts";

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
    return new DriverError("passing", "Telegram's answer could not be read.");
  }
  return toNoAnswer("Telegram", failure.error, signal);
}

function fromRefusal(status: number, { description, parameters = {} }: Failure): DriverError {
  const { retry_after: seconds, migrate_to_chat_id: newId } = parameters;
  const advice = newId === undefined ? ADVICE.get(status) : `The chat has a new id: ${newId}.`;
  const reason = toLine(description);
  const sentence = `Telegram answered ${status}${reason && `: ${reason}`}.`;
  return new DriverError(sortStatus(status), `${sentence} ${advice ?? ""}`.trim(), {
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  });
}
