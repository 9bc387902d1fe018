import type { MailSettings } from "../../config/types.ts";
import { isRetryableStatus } from "../../shared/network.ts";
import { backoffMs } from "../../shared/time.ts";
import { cutText } from "../../shared/text.ts";
import type { Mail } from "../source.ts";
import type { RetryContext } from "./backoff.ts";
import { type HookResponse, type PostMails, toBody } from "./post.ts";

export interface ProcessedMail {
  mail: Mail;
  /** The response to the last request that held the mail. */
  response: HookResponse;
  /** True if the hook rejects the mail permanently. */
  setAside: boolean;
  attempts: number;
}

export interface DeliverContext extends RetryContext {
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
    for (const mail of mails) yield { mail, response, setAside: false, attempts };
  } else if (mails.length > 1) {
    const middle = Math.ceil(mails.length / 2);
    yield* deliver(mails.slice(0, middle), context);
    yield* deliver(mails.slice(middle), context);
  } else if (first) {
    const shorter = classification === "too-large" ? shorten(first) : undefined;
    if (shorter) yield* deliver([shorter], context);
    else yield { mail: first, response, setAside: true, attempts };
  }
}

interface ClassifiedResponse {
  response: HookResponse;
  classification: Exclude<Classification, "unavailable">;
  attempts: number;
}

/** Retries while the service is unavailable, and a few times when a transform fails on a single mail. */
async function postUntilClassified(mails: Mail[], context: DeliverContext): Promise<ClassifiedResponse> {
  const { settings, post, status, backoff, pause, postSignal } = context;
  const body = toBody(settings.name, mails);
  for (let attempts = 1, failures = 0; ; attempts += 1) {
    const response = await post(body, postSignal);
    const classification = classifyResponse(response, mails.length);
    if (classification === "failed") failures += 1;
    const waitMs = Math.max(backoffMs(attempts, backoff), response.retryAfterMs ?? 0);
    if (classification === "unavailable") {
      postSignal.throwIfAborted();
      status.enter("rejected", { error: response.error, waitMs });
    } else {
      status.resume();
      const isFinal = classification !== "failed" || mails.length > 1 || failures === MAX_TRANSFORM_FAILURES;
      if (isFinal) return { response, classification, attempts };
    }
    await pause(waitMs);
  }
}

/**
 * accepted · too-large: fewer or shorter mails may be accepted · rejected: because of one of the mails · failed: a transform
 * failed on one of them, and may succeed next time · unavailable: no mail is the cause, the same request may succeed later.
 */
export type Classification = "accepted" | "too-large" | "rejected" | "failed" | "unavailable";

/** Statuses that are the same for any mail: token, address, method, a gateway in between. */
const SERVICE_STATUSES = [401, 403, 404, 405, 407, 415, 426];

/** The meaning of a response for the `count` mails of its request. */
export function classifyResponse({ status, code, skipped }: HookResponse, count: number): Classification {
  // A mapping's `match.where` may ask for a field that a mail lacks: that mail must not stop the others.
  if (skipped) return "rejected";
  if (status >= 200 && status < 300) return "accepted";
  if (status === 413) return "too-large";
  // A timeout can be the fault of a mail only if there are several.
  if (status === 504 && count > 1) return "too-large";
  if (status === 500 && code === "transform_failed") return "failed";
  return isRetryableStatus(status) || SERVICE_STATUSES.includes(status) ? "unavailable" : "rejected";
}

/** Below this length the whole text is cut. */
const MIN_CHARACTERS = 256;

/** The same mail with a quarter of its text, finally with none; undefined if it has none. */
export function shorten(mail: Mail): Mail | undefined {
  const { length } = mail.body;
  if (length === 0) return undefined;
  return { ...mail, body: length > MIN_CHARACTERS ? cutText(mail.body, length / 4) : "", truncated: true };
}
