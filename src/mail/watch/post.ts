import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../errors.ts";
import { parseObject } from "../../shared/json.ts";
import { toBearer } from "../../shared/secret.ts";
import { describeUnreachable } from "../imap/errors.ts";
import type { Mail } from "../source.ts";

/** What the hook said to some mails. */
export interface MailAnswer {
  /** 0: there was no answer. */
  status: number;
  /** The answer's own `code`; empty where it has none. */
  code: string;
  /** In a sentence what was refused; empty for what was taken. */
  error: string;
  /** The event that came of it, or the one that holds the refused request. */
  eventId: string | undefined;
  /** Of a 404: there is such a hook, but none of its mappings wants these mails. */
  hookExists: boolean;
  /** When the service wants to be asked again, in milliseconds. */
  retryAfterMs: number | undefined;
}

/** Posts one body to the mail hook. Never rejects: no answer is an answer too. */
export type PostMails = (body: string, signal: AbortSignal) => Promise<MailAnswer>;

export interface PostOptions {
  /** `fetch`, or the service's own door. */
  send(request: Request): Promise<Response>;
  /** Asked for each request: a reload may have changed it. */
  target(): Target;
}

interface Target {
  url: string;
  token: string;
}

/** Long enough for slow transforms of many mails; what is cut off is known again by its ids. */
const TIMEOUT_MS = 120_000;

/** A service that asks for more patience than this is asked again after this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

export function createMailPost({ send, target }: PostOptions): PostMails {
  return async function postMails(body, signal) {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const { url, token } = target();
    try {
      const response = await send(toRequest({ url, token }, body, AbortSignal.any([signal, timeout])));
      return toAnswer(response, await response.text());
    } catch (error) {
      return timeout.aborted
        ? noAnswer(504, "the hook took too long to answer")
        : noAnswer(0, describeFailure(error, url));
    }
  };
}

function toRequest({ url, token }: Target, body: string, signal: AbortSignal): Request {
  try {
    return new Request(url, {
      method: "POST",
      headers: { authorization: toBearer(token), "content-type": "application/json" },
      body,
      signal,
      // Followed, a POST would become a GET, or take its credential along.
      redirect: "manual",
    });
  } catch {
    // Its message may quote the token.
    throw new Error("with this address and hooks.token no request can be made");
  }
}

function toAnswer({ status, ok, headers }: Response, text: string): MailAnswer {
  const { code, error, eventId, requestId } = parse(text);
  // A proxy's page, or another server at this address: no mail is dealt with by it.
  if (ok && status !== 204 && !eventId) return noAnswer(0, "what answers at its address is not Hookline");
  const reason = [status, code, error].filter((part) => part !== "").join(" ");
  return {
    status,
    code,
    error: ok ? "" : `the hook answered ${reason}`,
    eventId: eventId || requestId || undefined,
    hookExists: headers.get("hook-exists") === "true",
    retryAfterMs: toMilliseconds(headers.get("retry-after")),
  };
}

function noAnswer(status: number, error: string): MailAnswer {
  return { status, code: "", error, eventId: undefined, hookExists: false, retryAfterMs: undefined };
}

/** The texts of an answer that are of use; another server's may be anything. */
function parse(text: string): Record<"code" | "error" | "eventId" | "requestId", string> {
  const body = parseObject(text);
  const read = (name: string): string => (typeof body[name] === "string" ? body[name].slice(0, 300) : "");
  return { code: read("code"), error: read("error"), eventId: read("eventId"), requestId: read("requestId") };
}

function toMilliseconds(retryAfter: string | null): number | undefined {
  const milliseconds = Number(retryAfter ?? Number.NaN) * 1000;
  return milliseconds >= 0 ? Math.min(milliseconds, MAX_RETRY_AFTER_MS) : undefined;
}

/** `fetch` says what happened in its error's cause. */
function describeFailure(error: unknown, url: string): string {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const { hostname, port, protocol } = URL.parse(url) ?? { hostname: "", port: "", protocol: "" };
  const reached = describeUnreachable(code, hostname, port || (protocol === "https:" ? 443 : 80));
  return reached ?? `the hook gave no answer: ${messageOf(cause)}`;
}

/** What stands around the mails of a body, generously. */
const ENVELOPE_BYTES = 256;

/** The body of one request. */
export function toBody(source: string, mails: Mail[]): string {
  return JSON.stringify({ source, messages: mails });
}

/**
 * Mails as they are posted together: neighbours whose authentication says the same, so that a mapping's `match.where` can
 * speak of it, and as many as fit into a body of `maxBytes`. One that is larger by itself stands alone.
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
