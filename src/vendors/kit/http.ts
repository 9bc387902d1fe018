import { codeOf, DriverError } from "../../core/errors.ts";
import { parseJson, toObject, toObjects } from "../../core/shared/json.ts";
import { isRetryableStatus, parseRetryAfter, readText } from "../../core/shared/net/network.ts";
import { toBearer } from "../../core/shared/secret.ts";
import { traceHeaders } from "../../core/telemetry/traces.ts";
import type { ChannelDriver, OutgoingMessage } from "../../core/ports/channel.ts";

/** How the API of one service is called. */
export interface Api {
  /** In error messages. */
  service: string;
  /** With or without a final slash. */
  baseUrl: string;
  /** Between the base URL and the path of each call: `/api/v4`. */
  root?: string;
  /** The credential, or its source for a recipient. */
  token?: string | ((to: string, context: TokenContext) => TokenSource | Promise<TokenSource>);
  /** Default: the token as `Bearer`. */
  headers?(token: string): Record<string, string>;
  /** The next step for the operator after a refusal, by its status. */
  advice?: ReadonlyMap<unknown, string>;
  /** The text of a refusal besides its status. Default: its `message`, or that of its `error`. */
  explain?(answer: HttpAnswer): Refusal;
}

/** The calls that a token is for. */
export interface TokenContext {
  signal: AbortSignal;
  /** The event that the calls are about, as templates see it, if there is one. */
  readEvent?: OutgoingMessage["readEvent"];
}

/** Gives the tokens of one account. */
export interface TokenSource {
  /** A token that is valid for a while. Parallel callers share one request. */
  get(signal: AbortSignal): Promise<string>;
  /** Does not return this token again. */
  forget(token: string): void;
}

type Method = "DELETE" | "GET" | "PATCH" | "POST" | "PUT";

/** Calls the API; the path is encoded. Rejects with a `DriverError` unless it succeeds or answers an `accepted` status. */
export type Call = (method: Method, path: string, body?: unknown, accepted?: readonly number[]) => Promise<HttpAnswer>;

/** Opens the API for the calls about one recipient. */
export interface OpenApi {
  (signal: AbortSignal, to?: string, readEvent?: OutgoingMessage["readEvent"]): Promise<Call>;
  authorize: NonNullable<ChannelDriver["authorize"]>;
}

/** Calls the JSON API of one service, with the errors and retries that Hookline expects of a driver. */
export function createApi({
  service,
  baseUrl,
  root = "",
  token,
  headers = toBearerHeaders,
  advice,
  explain,
}: Api): OpenApi {
  const address = `${baseUrl.replace(/\/$/, "")}${root}`;
  return Object.assign(open, {
    async authorize(to: string, signal: AbortSignal) {
      const { sent = {} } = await findCredential(to, { signal });
      return { baseUrl: address, headers: sent };
    },
  });

  async function findCredential(
    to: string,
    context: TokenContext,
  ): Promise<{ sent?: Record<string, string>; source?: TokenSource; credential?: string }> {
    const source = typeof token === "function" ? await token(to, context) : undefined;
    const credential = typeof token === "string" ? token : await source?.get(context.signal);
    return { source, credential, ...(credential !== undefined && { sent: headers(credential) }) };
  }

  async function open(signal: AbortSignal, to = "", readEvent?: OutgoingMessage["readEvent"]): Promise<Call> {
    const { source, credential, sent } = await findCredential(to, { signal, readEvent });
    return async (method, path, body, accepted = []) => {
      const url = `${address}${path}`;
      const answer = await request({ service, url, method, headers: sent, body, signal });
      if (isPage(answer)) throw toUnreadable(service);
      if (isSuccess(answer)) return answer;
      const explained = explain?.(answer);
      // A limit may have the status of an answer that is expected.
      if (accepted.includes(answer.status) && explained?.retryable !== true) return answer;
      // A token may be revoked early. The next attempt gets a new one.
      const isRevoked = source !== undefined && answer.status === 401;
      if (isRevoked) source.forget(credential ?? "");
      throw toRefusal(service, answer, {
        reason: answer.body["message"] ?? toObject(answer.body["error"])["message"],
        advice: advice?.get(answer.status),
        ...explained,
        ...(isRevoked && { retryable: true }),
      });
    };
  }
}

function toBearerHeaders(token: string): Record<string, string> {
  return { authorization: toBearer(token) };
}

export function toBasic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

export function isSuccess({ status }: Pick<HttpAnswer, "status">): boolean {
  return status >= 200 && status < 300;
}

/** A proxy's sign-in page for example, in place of an answer of the service. */
function isPage({ status, headers }: HttpAnswer): boolean {
  const isHtml = /^text\/html\b/i.test(headers.get("content-type") ?? "");
  return isHtml && isSuccess({ status }) && status !== 204 && headers.get("content-length") !== "0";
}

/** The characters of ids: none has a meaning in a path or at a terminal, and there is no way up. */
const ID = /^(?!\.+$)[\w.:=@{}|+~-]{1,500}$/;

/** The form of ids that are the address of a page. */
export const PAGE_ADDRESS = /^https?:\/\/[\w.:[\]-]{1,300}\/[\w./~%#?=&+-]{1,2000}$/;

/** The id that a service has given something. Without one, another server has answered, a proxy's sign-in page for example. */
export function requireId(id: unknown, service: string, form = ID): string {
  const text = Number.isSafeInteger(id) ? String(id) : id;
  if (typeof text === "string" && form.test(text)) return text;
  throw toUnreadable(service);
}

interface HttpRequest {
  service: string;
  url: string;
  /** Default: POST. */
  method?: Method;
  headers?: Record<string, string>;
  /** Sent as a form if it is `URLSearchParams`, else as JSON, which a string is already. Absent: none. */
  body?: unknown;
  signal: AbortSignal;
}

/** An answer of the service. */
export interface HttpAnswer {
  /** Redirects are not followed. */
  status: number;
  headers: Headers;
  /** Empty if the body is not a JSON object. */
  body: Record<string, unknown>;
  /** The objects in the body if it is a JSON array. */
  items?: Record<string, unknown>[];
}

/** In characters. A list of 100 events with their payloads is shorter. */
const MAX_ANSWER = 32_000_000;

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
    const text = await readText(response, MAX_ANSWER);
    if (text.length >= MAX_ANSWER) throw toUnreadable(service);
    const answer = parseAnswer(text);
    const items = Array.isArray(answer) ? toObjects(answer) : undefined;
    return { status: response.status, headers: response.headers, body: toObject(answer), items };
  } catch (error) {
    throw error instanceof DriverError ? error : toNoAnswer(service, error, signal);
  }
}

/** An integer that a number cannot hold stays as it is written, as text: it is an id. undefined: it is not JSON. */
function parseAnswer(text: string): unknown {
  if (!/\d{16}/.test(text)) return parseJson(text);
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      Number.isInteger(value) && !Number.isSafeInteger(value) ? (context?.source ?? value) : value,
    );
  } catch {
    return undefined;
  }
}

function encode(body: unknown, headers: Record<string, string>): Pick<RequestInit, "headers" | "body"> {
  if (body === undefined) return { headers };
  if (body instanceof URLSearchParams) return { headers, body };
  const json = typeof body === "string" ? body : JSON.stringify(body);
  return { headers: { "content-type": "application/json", ...headers }, body: json };
}

/** More about an answer that is an error than its status says. */
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

export function toRefusal(
  service: string,
  { status, headers }: Pick<HttpAnswer, "headers" | "status">,
  {
    reason,
    advice = "",
    retryable = isRetryableStatus(status),
    retryAfterMs = parseRetryAfter(headers.get("retry-after")),
  }: Refusal = {},
): DriverError {
  const line = toLine(reason);
  const message = `${service} answered ${status}${line && `: ${line}`}. ${advice}`.trim();
  return new DriverError(message, { retryable, retryAfterMs });
}

/** The time until a limit ends: by `Retry-After`, or by a header with seconds since the epoch. In milliseconds. */
export function untilReset(headers: Headers, name: string): number | undefined {
  const reset = Number(headers.get(name) ?? Number.NaN) * 1000 - Date.now();
  return parseRetryAfter(headers.get("retry-after")) ?? (Number.isNaN(reset) ? undefined : Math.max(0, reset));
}

/** The error for a refusal that the service explains by an error code. The service's words may contain the recipient. */
export function toCodeRefusal(
  service: string,
  code: unknown,
  { advice = "", ...options }: Omit<Refusal, "reason"> & { retryable: boolean },
): DriverError {
  return new DriverError(`${service} refused the message: ${toLine(String(code))}. ${advice}`.trim(), options);
}

/** The error for an answer of something else than the service, a proxy for example. */
export function toUnreadable(service: string): DriverError {
  return new DriverError(`The answer of ${service} could not be read.`, { retryable: true });
}

/** The error for a request that was aborted or failed without an answer. Its message shows nothing of the request. */
export function toNoAnswer(service: string, error: unknown, signal: AbortSignal): DriverError {
  if (signal.aborted) {
    return new DriverError(`The request was stopped before ${service} answered.`, { retryable: true });
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

/** A `checkRecipient` for recipients that match a pattern. `expected` completes "Expected …". */
export function recipientCheck(pattern: RegExp, expected: string): ChannelDriver["checkRecipient"] {
  return (to) => {
    if (!pattern.test(to)) throw new DriverError(`Expected ${expected}.`, { retryable: false });
  };
}

/** The parts of a recipient that may name a message after a colon. */
export function splitRecipient(to: string): { place: string; message?: string } {
  const [place = "", message] = to.split(":", 2);
  return { place, message };
}

/**
 * Shows that an answer is being written, for a service whose notice ends by itself after a few seconds: posts it again until
 * the returned function is called. Rejects if the first one fails.
 */
export async function keepTyping(
  open: OpenApi,
  { path, body, everyMs }: { path: string; body?: object; everyMs: number },
  started: AbortSignal,
): Promise<() => Promise<void>> {
  const notify = async (signal: AbortSignal): Promise<unknown> => (await open(signal))("POST", path, body);
  await notify(started);
  // One that fails is not worth a message: the next may work.
  const repeat = (): void => void notify(AbortSignal.timeout(everyMs)).catch(() => {});
  const timer = setInterval(repeat, everyMs).unref();
  return async () => clearInterval(timer);
}
