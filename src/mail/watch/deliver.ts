import { isDeepStrictEqual } from "node:util";
import type { MailSettings } from "../../core/config/resolved-config.ts";
import { codeOf, messageOf } from "../../core/errors.ts";
import { parseObject, readOwn } from "../../core/shared/json.ts";
import { describeUnreachable, isRetryableStatus, parseRetryAfter } from "../../core/shared/net/network.ts";
import { toBearer } from "../../core/shared/secret.ts";
import { cutText } from "../../core/shared/text/text.ts";
import { type Backoff, backoffMs, HOUR_MS } from "../../core/shared/time.ts";
import type { Mail } from "../../core/ports/mail-source.ts";
import type { StatusTracker } from "./status.ts";

export interface ProcessedMail {
  mail: Mail;
  /** The response to the last request that held the mail. */
  response: HookResponse;
  /** True if the hook rejects the mail permanently. */
  setAside: boolean;
  /** True if the hook knew it already. */
  repeated: boolean;
  attempts: number;
}

export interface DeliverContext {
  status: StatusTracker;
  backoff: Backoff;
  /** Waits this long, or until a new attempt makes sense. Rejects when the watch ends. */
  pause(ms: number): Promise<void>;
  settings: Pick<MailSettings, "name">;
  post: PostMails;
  /** Aborts a request in flight. */
  postSignal: AbortSignal;
}

/** How many times a mail is posted whose transform fails. */
const MAX_TRANSFORM_FAILURES = 3;

/**
 * Posts mails until the hook has accepted each, or rejected it when posted alone. Yields each result at once. Throws when the
 * watch ends.
 */
export async function* deliver(mails: Mail[], context: DeliverContext): AsyncGenerator<ProcessedMail> {
  const { response, classification, attempts } = await postUntilClassified(mails, context);
  const [first] = mails;
  if (classification === "accepted") {
    // Mails of an earlier attempt are no repeats. The answer says how many mails are, not which.
    const count = attempts > 1 ? 0 : response.repeated;
    for (const [index, mail] of mails.entries()) {
      yield { mail, response, setAside: false, repeated: index < count, attempts };
    }
  } else if (mails.length > 1) {
    const middle = Math.ceil(mails.length / 2);
    yield* deliver(mails.slice(0, middle), context);
    yield* deliver(mails.slice(middle), context);
  } else if (first) {
    const shorter = classification === "too-large" ? shorten(first) : undefined;
    if (shorter) yield* deliver([shorter], context);
    else yield { mail: first, response, setAside: true, repeated: false, attempts };
  }
}

/** Retries while the service is unavailable, and a few times when a transform fails on a single mail. */
async function postUntilClassified(mails: Mail[], context: DeliverContext) {
  const { settings, post, status, backoff, pause, postSignal } = context;
  const body = JSON.stringify({ source: settings.name, messages: mails });
  for (let attempts = 1, failures = 0; ; attempts += 1) {
    const response = await post(body, postSignal);
    const classification = classifyResponse(response, mails.length);
    if (classification === "failed") failures += 1;
    const waitMs = Math.max(backoffMs(attempts, backoff), response.retryAfterMs ?? 0);
    if (classification === "unavailable") {
      postSignal.throwIfAborted();
      status.enter("refused", { error: response.error, waitMs });
    } else {
      status.resume();
      const isFinal = classification !== "failed" || mails.length > 1 || failures === MAX_TRANSFORM_FAILURES;
      if (isFinal) return { response, classification, attempts };
    }
    await pause(waitMs);
  }
}

/**
 * accepted · too-large: fewer or shorter mails may be accepted · refused: because of one of the mails · failed: a transform
 * failed on one of them, and may succeed next time · unavailable: no mail is the cause, the same request may succeed later.
 */
export type Classification = "accepted" | "too-large" | "refused" | "failed" | "unavailable";

/** Statuses that are the same for any mail: token, address, method, a gateway in between. */
const SERVICE_STATUSES = [401, 403, 404, 405, 407, 415, 426];

/** The meaning of a response for the `count` mails of its request. */
export function classifyResponse({ status, code, skipped }: HookResponse, count: number): Classification {
  // A mapping's `match.where` may ask for a field that a mail lacks: that mail must not stop the others.
  if (skipped) return "refused";
  if (status >= 200 && status < 300) return "accepted";
  if (status === 413) return "too-large";
  // A timeout can be the fault of a mail only if there are several.
  if (status === 504 && count > 1) return "too-large";
  if (status === 500 && code === "transform_failed") return "failed";
  return isRetryableStatus(status) || SERVICE_STATUSES.includes(status) ? "unavailable" : "refused";
}

/** Below this length the whole text is cut. */
const MIN_CHARACTERS = 256;

/** The same mail with a quarter of its text, finally with none; undefined if it has none. */
export function shorten(mail: Mail): Mail | undefined {
  const { length } = mail.body;
  if (length === 0) return undefined;
  return { ...mail, body: length > MIN_CHARACTERS ? cutText(mail.body, length / 4) : "", truncated: true };
}

/** The hook's response to some mails. */
export interface HookResponse {
  /** 0: there was no response. */
  status: number;
  /** The `code` of the body; empty if it has none. */
  code: string;
  /** A sentence that says what failed; empty for what was accepted. */
  error: string;
  /** The event that was created, or the one that holds the rejected request. */
  eventId: string | undefined;
  /** The hook exists, but none of its mappings takes these mails. */
  skipped: boolean;
  /** How many of the mails the hook knew already. */
  repeated: number;
  retryAfterMs: number | undefined;
}

/** Posts one body to the mail hook. Never rejects: a missing response is a response with status 0. */
export type PostMails = (body: string, signal: AbortSignal) => Promise<HookResponse>;

export interface PostOptions {
  /** `fetch`, or the service's own entry. */
  send(request: Request): Promise<Response>;
  /** Called for each request, since a reload may change it. */
  target(): { url: string; token: string };
}

/** Long enough for slow transforms of many mails. After a timeout the mails are recognized by their ids. */
const TIMEOUT_MS = 120_000;
const MAX_RETRY_AFTER_MS = HOUR_MS;
/** The bytes of a body besides its mails, generously. */
const ENVELOPE_BYTES = 256;

export function createMailPost({ send, target }: PostOptions): PostMails {
  return async function postMails(body, signal) {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const { url, token } = target();
    try {
      const response = await send(toRequest({ url, token }, body, AbortSignal.any([signal, timeout])));
      return readResponse(response, await response.text());
    } catch (error) {
      return timeout.aborted
        ? noResponse(504, "the hook took too long to answer")
        : noResponse(0, describeFailure(error, url));
    }
  };
}

/**
 * Groups mails into requests: neighbors with the same authentication, so that a mapping's `match.where` can test it, and as
 * many as fit into a body of `maxBytes`. A larger mail is posted alone.
 */
export function toRequests(mails: Mail[], maxBytes: number): Mail[][] {
  const requests: Mail[][] = [];
  let room = 0;
  for (const mail of mails) {
    const bytes = Buffer.byteLength(JSON.stringify(mail)) + 1;
    const last = requests.at(-1);
    if (last && bytes <= room && isDeepStrictEqual(last[0]?.authentication, mail.authentication)) {
      last.push(mail);
      room -= bytes;
    } else {
      requests.push([mail]);
      room = maxBytes - ENVELOPE_BYTES - bytes;
    }
  }
  return requests;
}

function toRequest({ url, token }: ReturnType<PostOptions["target"]>, body: string, signal: AbortSignal): Request {
  try {
    return new Request(url, {
      method: "POST",
      headers: { authorization: toBearer(token), "content-type": "application/json" },
      body,
      signal,
      // A followed redirect would turn the POST into a GET, or leak its credential.
      redirect: "manual",
    });
  } catch {
    // The original message may quote the token.
    throw new Error("cannot build a request from this address and hooks.token");
  }
}

function readResponse({ status, ok, headers }: Response, text: string): HookResponse {
  const body = parseObject(text);
  // The body may come from another server, so it can be anything.
  const read = (name: string): string => (typeof body[name] === "string" ? body[name].slice(0, 300) : "");
  const eventId = read("eventId");
  const code = read("code");
  // A proxy's page, or another server at this address, has processed no mail.
  if (ok && status !== 204 && !eventId) return noResponse(0, "the server at this address is not Hookline");
  const skipped = headers.get("hook-skipped") === "true";
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"));
  const reason = [status, code, read("error")].filter((part) => part !== "").join(" ");
  return {
    status,
    code,
    error: skipped ? "no mapping of the hook takes it" : ok ? "" : `the hook answered ${reason}`,
    eventId: eventId || read("requestId") || (headers.get("x-request-id") ?? undefined),
    skipped,
    repeated: countRepeated(headers, body),
    retryAfterMs: retryAfterMs && Math.min(retryAfterMs, MAX_RETRY_AFTER_MS),
  };
}

function noResponse(status: number, error: string): HookResponse {
  return { status, code: "", error, eventId: undefined, skipped: false, repeated: 0, retryAfterMs: undefined };
}

function countRepeated(headers: Headers, { actions }: Record<string, unknown>): number {
  if (headers.get("idempotency-replayed") === "true") return Infinity;
  return Array.isArray(actions) ? actions.filter((action) => readOwn(action, "repeated") === true).length : 0;
}

/** `fetch` puts the reason into the cause of its error. */
function describeFailure(error: unknown, url: string): string {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  const code = codeOf(cause);
  const { hostname, port, protocol } = URL.parse(url) ?? { hostname: "", port: "", protocol: "" };
  const unreachable = describeUnreachable(code, hostname, port || (protocol === "https:" ? 443 : 80));
  return unreachable ?? `no response from the hook: ${messageOf(cause)}`;
}
