import type { Mail } from "../port.ts";
import { type BackoffLimits, createBackoff } from "./backoff.ts";
import { judge, type Verdict } from "./judge.ts";
import type { MailAnswer, PostMails } from "./post.ts";
import { shorten } from "./shorten.ts";
import { toBody } from "./to-requests.ts";

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
const MOST_TRIES = 3;

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
      if (verdict !== "failed" || mails.length > 1 || failures === MOST_TRIES)
        return { answer, verdict, tries };
    }
    await pause(waitMs);
  }
}
