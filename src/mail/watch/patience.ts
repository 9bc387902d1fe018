import { type BackoffLimits, createBackoff } from "./backoff.ts";
import { type MailState, needsOperator } from "./states.ts";

export interface LaneWaits {
  /** After a failure that may be over at any moment. */
  passing: BackoffLimits;
  /** After one that an operator must mend: more tries would only lock the account. */
  lasting: BackoffLimits;
}

/** How long to wait for a mailbox that is lost, by what its connections have been good for. */
export interface Patience {
  /** A connection gave so many mails, its first batch may have none. */
  gave(mails: number): void;
  /** The connection is lost, or did not come about: how long to wait before the next, in milliseconds. */
  lost(state: MailState): number;
}

/**
 * Most that is waited after a connection that came about, in milliseconds: on a line that is cut again and again mails must not
 * come late. A server that lets in and throws out at once is not asked every second all the same.
 */
const MOST_AFTER_OPEN_MS = 10_000;
/** A connection that held for so many milliseconds was a good one. */
const HELD_MS = 60_000;

/** `now`: milliseconds of a clock that only goes forward. */
export function createPatience({ passing, lasting }: LaneWaits, now = () => performance.now()): Patience {
  const mostAfterOpenMs = Math.min(passing.mostMs, MOST_AFTER_OPEN_MS);
  const unreached = createBackoff(passing);
  const opened = createBackoff({ ...passing, mostMs: mostAfterOpenMs });
  const refused = createBackoff(lasting);
  let openSince: number | undefined;
  return {
    gave(mails) {
      openSince ??= now();
      unreached.reset();
      refused.reset();
      if (mails > 0) opened.reset();
    },
    lost(state) {
      const wasOpenSince = openSince;
      openSince = undefined;
      if (needsOperator(state)) return refused.next();
      if (wasOpenSince === undefined) return unreached.next();
      if (now() - wasOpenSince >= HELD_MS) opened.reset();
      return opened.next();
    },
  };
}
