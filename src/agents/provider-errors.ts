import { DriverError } from "../errors.ts";
import { withoutSecrets } from "./without-secrets.ts";

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

const PASSING_STATUSES = new Set([408, 409, 425, 429]);
const CREDENTIAL_STATUSES = new Set([401, 403]);
const MAX_LENGTH = 300;

/**
 * Sorts what a model call failed with. Lasting: a 4xx that says the request itself is wrong. Passing: everything else, a
 * closed socket, a timeout or an answer that makes no sense among them. The message is one short line. The error it came
 * from is not chained: it carries the whole prompt.
 */
export function toDriverError(error: unknown, call: Call): DriverError {
  const failure: Failure = error instanceof Error ? error : { message: String(error) };
  return new DriverError(isLasting(failure.statusCode) ? "lasting" : "passing", describe(failure, call), {
    retryAfterMs: retryAfterMs(failure.responseHeaders ?? {}),
  });
}

function describe({ statusCode, message }: Failure, { provider, secrets }: Call): string {
  const outcome = statusCode === undefined ? "gave no answer" : `answered ${statusCode}`;
  const advice = CREDENTIAL_STATUSES.has(statusCode ?? 0)
    ? ` (check agents.providers.${provider}.apiKey)`
    : "";
  return `${provider} ${outcome}${advice}: ${withoutSecrets(message, secrets)}`.slice(0, MAX_LENGTH);
}

function isLasting(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && !PASSING_STATUSES.has(status);
}

/** `retry-after-ms` is OpenAI's finer form; `Retry-After` is seconds or a date. */
function retryAfterMs(headers: Record<string, string>): number | undefined {
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (exact >= 0) return exact;
  const value = headers["retry-after"] ?? "";
  const seconds = Number(value);
  const wait = value.trim() && seconds >= 0 ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
