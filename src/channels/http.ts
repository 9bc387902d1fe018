import { DriverError } from "../errors.ts";
import { isRetryableStatus, parseRetryAfter } from "../shared/http-status.ts";
import { parseObject } from "../shared/json.ts";

export interface HttpRequest {
  /** The service as error messages name it. */
  service: string;
  /** No place for a credential: addresses end up in logs. */
  url: string;
  headers?: Record<string, string>;
  /** Sent as a form where it is `URLSearchParams`, else as JSON. */
  body: unknown;
  signal: AbortSignal;
}

export interface HttpAnswer {
  /** A redirect is an answer like any other. */
  status: number;
  headers: Headers;
  /** Empty where it is no JSON object. */
  body: Record<string, unknown>;
}

export interface Refusal {
  /** The service's own words. Shortened to one line. */
  reason?: unknown;
  /** What the operator can do, a sentence. */
  advice?: string;
  /** Where the service said otherwise than by `Retry-After`, in milliseconds. */
  retryAfterMs?: number;
  /** Where a code of the service's own tells more than the status. */
  retryable?: boolean;
}

/** Posts once. Resolves to the answer, whatever its status; rejects with a passing `DriverError` where none came. */
export async function post({ service, url, headers, body, signal }: HttpRequest): Promise<HttpAnswer> {
  try {
    const response = await fetch(url, {
      method: "POST",
      ...encode(body, headers),
      signal,
      // Followed, a POST would become a GET, or take its credential along.
      redirect: "manual",
    });
    return {
      status: response.status,
      headers: response.headers,
      body: parseObject(await response.text()),
    };
  } catch (error) {
    throw toNoAnswer(service, error, signal);
  }
}

/** The error for a response that is not the expected one. Whether it is retryable follows from its status. */
export function toRefusal(service: string, answer: HttpAnswer, refusal: Refusal = {}): DriverError {
  const reason = toLine(refusal.reason);
  const message = `${service} answered ${answer.status}${reason && `: ${reason}`}.`;
  const retryable = refusal.retryable ?? isRetryableStatus(answer.status);
  return new DriverError([message, refusal.advice].filter(Boolean).join(" "), {
    retryable,
    retryAfterMs: refusal.retryAfterMs ?? parseRetryAfter(answer.headers.get("retry-after")),
  });
}

/** The error for a call that ended without an answer. Its message holds nothing of what was sent. */
export function toNoAnswer(service: string, error: unknown, signal: AbortSignal): DriverError {
  if (signal.aborted) {
    return new DriverError(`The delivery was stopped before ${service} answered.`, { retryable: true });
  }
  const cause = error instanceof Error ? error.cause : undefined;
  // What `fetch` refuses by itself has no cause, and its message may quote a header with its credential.
  if (!(cause instanceof Error)) {
    return new DriverError(`The request to ${service} could not be made. Check its token and baseUrl.`, {
      retryable: false,
    });
  }
  return new DriverError(`${service} gave no answer: ${toLine(cause.message || codeOf(cause))}.`, { retryable: true });
}

/** Foreign text as part of a sentence: one line, at most 200 characters, no full stop; empty for anything but text. */
export function toLine(text: unknown): string {
  if (typeof text !== "string") return "";
  return text
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, 200)
    .replace(/\.$/, "");
}

function encode(
  body: unknown,
  headers: Record<string, string> = {},
): { headers: Record<string, string>; body: string | URLSearchParams } {
  if (body instanceof URLSearchParams) return { headers, body };
  return { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** Of a connection that failed on several addresses, the message is empty. */
function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
