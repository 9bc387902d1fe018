import { codeOf, DriverError } from "../errors.ts";
import { untilAborted } from "../shared/async.ts";
import { parseObject, parseObjects } from "../shared/json.ts";
import { isRetryableStatus, parseRetryAfter } from "../shared/network.ts";
import { traceHeaders } from "../telemetry/traces.ts";

export interface HttpRequest {
  /** The name of the service in error messages. */
  service: string;
  /** Without a credential, since URLs end up in logs. */
  url: string;
  /** Default: POST. */
  method?: "DELETE" | "GET" | "PATCH" | "POST" | "PUT";
  headers?: Record<string, string>;
  /** Sent as a form if it is `URLSearchParams`, else as JSON. Absent: none. */
  body?: unknown;
  signal: AbortSignal;
}

export interface HttpAnswer {
  /** Redirects are not followed. */
  status: number;
  headers: Headers;
  /** Empty if the body is not a JSON object. */
  body: Record<string, unknown>;
  /** The objects in the body if it is a JSON array. */
  items?: Record<string, unknown>[];
}

/** Sends a request once. Resolves for any status. Rejects with a `DriverError` when there is no answer. */
export async function request({
  service,
  url,
  method = "POST",
  headers,
  body,
  signal,
}: HttpRequest): Promise<HttpAnswer> {
  try {
    const response = await fetch(url, {
      method,
      ...encode(body, { ...headers, ...traceHeaders() }),
      signal,
      // A followed redirect would turn the POST into a GET, or leak its credential.
      redirect: "manual",
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parseObject(text), items: parseObjects(text) };
  } catch (error) {
    throw toNoAnswer(service, error, signal);
  }
}

function encode(body: unknown, headers: Record<string, string> = {}): Pick<RequestInit, "headers" | "body"> {
  if (body === undefined) return { headers };
  if (body instanceof URLSearchParams) return { headers, body };
  return { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

export interface Refusal {
  /** The answer of the service. It is shortened to one line. */
  reason?: unknown;
  /** The next step for the operator, a sentence. */
  advice?: string;
  /** When the service says it other than by `Retry-After`, in milliseconds. */
  retryAfterMs?: number;
  /** When a code of the service says more than the status. */
  retryable?: boolean;
}

/** The error for an answer that is a refusal. */
export function toRefusal(
  service: string,
  { status, headers }: { status: number; headers?: Headers },
  {
    reason,
    advice = "",
    retryable = isRetryableStatus(status),
    retryAfterMs = parseRetryAfter(headers?.get("retry-after")),
  }: Refusal = {},
): DriverError {
  const line = toLine(reason);
  const message = `${service} answered ${status}${line && `: ${line}`}. ${advice}`.trim();
  return new DriverError(message, { retryable, retryAfterMs });
}

/** The error for a refusal that the service explains by an error code. The service's words may contain the recipient. */
export function toCodeRefusal(
  service: string,
  code: unknown,
  { advice = "", ...options }: Omit<Refusal, "reason"> & { retryable: boolean },
): DriverError {
  return new DriverError(`${service} refused the message: ${String(code)}. ${advice}`.trim(), options);
}

/** The error for an answer of something else than the service, a proxy for example. */
export function toUnreadable(service: string): DriverError {
  return new DriverError(`The answer of ${service} could not be read.`, { retryable: true });
}

/** The error for a request that was aborted or failed without an answer. Its message shows nothing of the request. */
export function toNoAnswer(service: string, error: unknown, signal: AbortSignal): DriverError {
  if (signal.aborted) {
    return new DriverError(`The delivery was stopped before ${service} answered.`, { retryable: true });
  }
  const cause = error instanceof Error ? error.cause : undefined;
  // Without a cause it is a request that `fetch` rejects, and the message may quote a header with its credential.
  if (!(cause instanceof Error)) {
    return new DriverError(`The request to ${service} could not be sent. Check its token and baseUrl.`, {
      retryable: false,
    });
  }
  // An error for several addresses has an empty message.
  const reason = toLine(cause.message || String(codeOf(cause) ?? cause.name));
  return new DriverError(`${service} gave no answer: ${reason}.`, { retryable: true });
}

/** Text of a service as part of a sentence: one line of at most 200 characters without a full stop, "" for other values. */
export function toLine(text: unknown): string {
  if (typeof text !== "string") return "";
  return text
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, 200)
    .replace(/\.$/, "");
}

export interface TokenSource {
  /** A token that is valid for a while. Parallel callers share one request. */
  get(signal: AbortSignal): Promise<string>;
  /** Does not return this token again. */
  forget(token: string): void;
}

export interface Token {
  token: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** A token that expires sooner is not used. */
const MARGIN_MS = 300_000;
const FETCH_TIMEOUT_MS = 15_000;

/** Keeps each token until shortly before it expires. `service` names in errors where it comes from. */
export function createTokenSource(service: string, fetchToken: (signal: AbortSignal) => Promise<Token>): TokenSource {
  let kept: Token | undefined;
  let fetching: Promise<Token> | undefined;
  return {
    async get(signal) {
      if (kept && kept.expiresAt - MARGIN_MS > Date.now()) return kept.token;
      // It has its own timeout: the caller that started it may give up while others wait.
      fetching ??= fetchToken(AbortSignal.timeout(FETCH_TIMEOUT_MS)).finally(() => (fetching = undefined));
      try {
        kept = await untilAborted(fetching, signal);
      } catch (error) {
        throw signal.aborted ? toNoAnswer(service, error, signal) : error;
      }
      return kept.token;
    },
    forget(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}
