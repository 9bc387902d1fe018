import type { Mail } from "../source.ts";
import { type BackoffLimits, createBackoff } from "./backoff.ts";
import { type MailAnswer, type PostMails, toBody } from "./post.ts";

/** What became of one mail. */
export interface Dealt {
  mail: Mail;
  /** The last one that it had a part in. */
  answer: MailAnswer;
  /** True where the service refuses it for good. */
  setAside: boolean;
  tries: number;
}

export interface DeliverOptions {
  /** The `source` of what the hook is given. */
  source: string;
  post: PostMails;
  backoff: BackoffLimits;
  /** Waits so many milliseconds, or until another try is worth it. Rejects where the watch ends. */
  pause(ms: number): Promise<void>;
  /** The hook takes no mail at the moment; the next try comes after `waitMs`. */
  troubled(answer: MailAnswer, waitMs: number): void;
  /** The hook has judged the mails: it is there. */
  answered(): void;
  /** Cuts off a post under way. */
  signal: AbortSignal;
}

/** How often a mail is tried whose transform fails. */
const MAX_TRIES = 3;

/**
 * Posts mails until each is dealt with: taken, or set aside alone once the service refuses it for good. What became of
 * each is pushed onto `dealt` at once. Rejects where the watch ends before.
 */
export async function deliver(mails: Mail[], dealt: Dealt[], options: DeliverOptions): Promise<void> {
  const { answer, verdict, tries } = await postUntilJudged(mails, options);
  const [mail] = mails;
  if (verdict === "taken") {
    dealt.push(...mails.map((taken) => ({ mail: taken, answer, setAside: false, tries })));
  } else if (mails.length > 1) {
    const middle = Math.ceil(mails.length / 2);
    await deliver(mails.slice(0, middle), dealt, options);
    await deliver(mails.slice(middle), dealt, options);
  } else if (mail) {
    const shorter = verdict === "too-much" ? shorten(mail) : undefined;
    if (shorter) await deliver([shorter], dealt, options);
    else dealt.push({ mail, answer, setAside: true, tries });
  }
}

interface Judged {
  answer: MailAnswer;
  verdict: Exclude<Verdict, "unready">;
  tries: number;
}

/** Tries again for as long as the answer lies with none of the mails, and a few times where a transform fails on one. */
async function postUntilJudged(mails: Mail[], options: DeliverOptions): Promise<Judged> {
  const { source, post, backoff: limits, pause, troubled, answered, signal } = options;
  const body = toBody(source, mails);
  const backoff = createBackoff(limits);
  for (let tries = 1, failures = 0; ; tries += 1) {
    const answer = await post(body, signal);
    const verdict = judge(answer, mails.length);
    if (verdict === "failed") failures += 1;
    const waitMs = Math.max(backoff.next(), answer.retryAfterMs ?? 0);
    if (verdict === "unready") {
      signal.throwIfAborted();
      troubled(answer, waitMs);
    } else {
      answered();
      if (verdict !== "failed" || mails.length > 1 || failures === MAX_TRIES) return { answer, verdict, tries };
    }
    await pause(waitMs);
  }
}

/**
 * taken · too-much: fewer or shorter mails may pass · refused: it lies with one of the mails · failed: a transform failed on
 * one of them, and may not the next time · unready: it lies with no mail, the same may pass later.
 */
export type Verdict = "taken" | "too-much" | "refused" | "failed" | "unready";

/** Answers that would be the same for any mail: the token, the address, the method, a gateway between. */
const NOBODYS_FAULT = [401, 403, 404, 405, 407, 408, 415, 425, 426, 429];

/** What an answer says of the mails that were posted, `count` of them. */
export function judge({ status, code, hookExists }: MailAnswer, count: number): Verdict {
  if (status >= 200 && status < 300) return "taken";
  if (status === 413) return "too-much";
  // A timeout is one mail's fault at most where there is only one.
  if (status === 504 && count > 1) return "too-much";
  if (status === 500 && code === "transform_failed") return "failed";
  // A mapping may ask in `match.where` for what not every mail has: none that lacks it must stop the others.
  if (status === 404 && hookExists) return "refused";
  return status >= 400 && status < 500 && !NOBODYS_FAULT.includes(status) ? "refused" : "unready";
}

/** Below this many characters nothing is gained by cutting in steps. */
const SHORT = 256;

/** The same mail with a quarter of its text, at last without any; undefined where there is none to cut. */
export function shorten(mail: Mail): Mail | undefined {
  const { length } = mail.body;
  if (length === 0) return undefined;
  const rest = length > SHORT ? mail.body.slice(0, length / 4) : "";
  // Half of a surrogate pair is no character.
  return { ...mail, body: rest.replace(/[\uD800-\uDBFF]$/, ""), truncated: true };
}
