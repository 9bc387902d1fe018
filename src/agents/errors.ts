import { DriverError } from "../errors.ts";
import { isRetryableStatus, parseRetryAfter } from "../shared/http-status.ts";

/** Who was called, and what must not be told of the call. */
interface Call {
  /** The provider's name in the config. */
  provider: string;
  /** Key and header values. */
  secrets: string[];
}

/** What an error of the AI SDK tells about a call. */
interface Failure {
  /** Absent: no answer came. */
  statusCode?: number;
  responseHeaders?: Record<string, string>;
  message: string;
}

const CREDENTIAL_STATUSES = new Set([401, 403]);
const MAX_LENGTH = 300;

/**
 * Sorts what a model call failed with. Lasting: a 4xx that says the request itself is wrong. Passing: everything else, a
 * closed socket, a timeout or an answer that makes no sense among them. The message is one short line. The error it came
 * from is not chained: it carries the whole prompt.
 */
export function toDriverError(error: unknown, call: Call): DriverError {
  const failure: Failure = error instanceof Error ? error : { message: String(error) };
  return new DriverError(describe(failure, call), {
    retryable: failure.statusCode === undefined || isRetryableStatus(failure.statusCode),
    retryAfterMs: retryAfterMs(failure.responseHeaders ?? {}),
  });
}

function describe({ statusCode, message }: Failure, { provider, secrets }: Call): string {
  const outcome = statusCode === undefined ? "gave no answer" : `answered ${statusCode}`;
  const advice = CREDENTIAL_STATUSES.has(statusCode ?? 0) ? ` (check agents.providers.${provider}.apiKey)` : "";
  return `${provider} ${outcome}${advice}: ${withoutSecrets(message, secrets)}`.slice(0, MAX_LENGTH);
}

/** `retry-after-ms` is OpenAI's more exact form. */
function retryAfterMs(headers: Record<string, string>): number | undefined {
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  return exact >= 0 ? exact : parseRetryAfter(headers["retry-after"]);
}

/** A key by its prefix, or one that was masked with asterisks. */
const KEY_LIKE = /\b(?:sk|pk|rk)[-_][\w*.-]{4,}|[^\s*]{0,40}\*{3,}\S*/gi;
const URL_CREDENTIALS = /(https?:\/\/)[^\s/@]+@/gi;
const URL_QUERY = /(https?:\/\/[^\s?#]+)[?#][^\s]*/gi;

/** A shorter value would blank out ordinary words, and is no secret. */
const MIN_SECRET_LENGTH = 6;

/** An agent's own words on one line, without the secrets it was given: many quote the key they refuse, whole or masked. */
export function withoutSecrets(message: string, secrets: string[]): string {
  const cleared = secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .reduce((text, secret) => text.replaceAll(secret, "[redacted]"), message);
  return cleared
    .replaceAll(KEY_LIKE, "[redacted]")
    .replaceAll(URL_CREDENTIALS, "$1")
    .replaceAll(URL_QUERY, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** A system that has no room for another process, or for its files, just now. */
const PASSING_START_ERRORS = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC"]);

/** Why a provider's program did not start. Of the error only the code is told: its message may quote the environment. */
export function toStartError(name: string, error: unknown): DriverError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  const retryable = PASSING_START_ERRORS.has(code);
  return new DriverError(`${name} could not be started (${code}): see agents.providers.${name}.command.`, {
    retryable,
  });
}
