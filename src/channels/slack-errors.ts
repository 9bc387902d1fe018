import { DriverError } from "../errors.ts";
import { parseRetryAfter, sortStatus } from "./http.ts";

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
  return new DriverError("lasting", message);
}

function fromStatus(status: number, headers: Failure["headers"]): DriverError {
  return new DriverError(sortStatus(status), `Slack answered ${status}.`, {
    retryAfterMs: parseRetryAfter(headers?.["retry-after"] ?? null),
  });
}

function reasonOf({ original, message }: Failure): string {
  return original?.cause?.message ?? original?.message ?? message;
}

function passing(message: string, retryAfterSeconds?: number): DriverError {
  const retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
  return new DriverError("passing", message, { retryAfterMs });
}
