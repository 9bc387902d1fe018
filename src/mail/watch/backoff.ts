import { messageOf } from "../../errors.ts";
import { type LaneStatus, type MailState, needsOperator } from "./status.ts";

export interface BackoffLimits {
  /** The wait after the first failure, in milliseconds; it doubles with each further one. */
  firstMs: number;
  mostMs: number;
}

export interface Backoff {
  /** How long to wait after one more failure, in milliseconds. */
  next(): number;
  /** After a success: the next failure is the first one. */
  reset(): void;
}

/** Exponential, with up to a quarter more by chance: what failed together does not come back together. */
export function createBackoff({ firstMs, mostMs }: BackoffLimits): Backoff {
  let failures = 0;
  return {
    next() {
      const waitMs = Math.min(mostMs, firstMs * 2 ** failures);
      failures += 1;
      return Math.round(waitMs * (1 + Math.random() / 4));
    },
    reset() {
      failures = 0;
    },
  };
}

export interface Pauses {
  /** Resolves after so many milliseconds, at the next nudge, or once the signal aborts. Never rejects. */
  wait(ms: number): Promise<void>;
  /** Ends every wait: something has changed, it is worth a try now. */
  nudge(): void;
}

export function createPauses(signal: AbortSignal): Pauses {
  const ends = new Set<() => void>();
  signal.addEventListener("abort", nudge, { once: true });
  return { wait, nudge };

  async function wait(ms: number): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, ms);
      ends.add(end);

      function end(): void {
        clearTimeout(timer);
        ends.delete(end);
        resolve();
      }
    });
  }

  function nudge(): void {
    for (const end of ends) end();
  }
}

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
const MAX_AFTER_OPEN_MS = 10_000;
/** A connection that held for so many milliseconds was a good one. */
const HELD_MS = 60_000;

/** `now`: milliseconds of a clock that only goes forward. */
export function createPatience({ passing, lasting }: LaneWaits, now = () => performance.now()): Patience {
  const mostAfterOpenMs = Math.min(passing.mostMs, MAX_AFTER_OPEN_MS);
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

export interface InsistOptions {
  status: LaneStatus;
  backoff: BackoffLimits;
  /** Rejects where the watch ends. */
  pause(ms: number): Promise<void>;
}

/** Calls the store until it can be had: a disk that is full has room again one day. Rejects where the watch ends before. */
export async function insist<Result>(
  call: () => Result,
  { status, backoff: limits, pause }: InsistOptions,
): Promise<Result> {
  const backoff = createBackoff(limits);
  for (let failures = 0; ; failures += 1) {
    try {
      const result = call();
      if (failures > 0) status.resume();
      return result;
    } catch (error) {
      const waitMs = backoff.next();
      status.enter("store-failed", { error: `the mail store: ${messageOf(error)}`, waitMs });
      await pause(waitMs);
    }
  }
}
