import type { MailAnswer } from "./post.ts";

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
