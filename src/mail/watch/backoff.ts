import { messageOf } from "../../errors.ts";
import { type MailState, needsOperator, type StatusTracker } from "./status.ts";

export interface BackoffLimits {
  /** The wait after the first failure; it doubles with each further failure. */
  firstMs: number;
  maxMs: number;
}

export interface Backoff {
  /** How long to wait after one more failure, in milliseconds. */
  next(): number;
  /** After a success: the next failure counts as the first. */
  reset(): void;
}

/** Exponential, plus up to a quarter at random, so that parallel failures do not retry in step. */
export function createBackoff({ firstMs, maxMs }: BackoffLimits): Backoff {
  let failures = 0;
  return {
    next() {
      const waitMs = Math.min(maxMs, firstMs * 2 ** failures);
      failures += 1;
      return Math.round(waitMs * (1 + Math.random() / 4));
    },
    reset() {
      failures = 0;
    },
  };
}

export interface ReconnectLimits {
  /** After a failure that may end by itself. */
  transient: BackoffLimits;
  /** After a failure that an operator must fix: more attempts could lock the account. */
  operator: BackoffLimits;
}

/** How long to wait before the next connection, by what the earlier connections achieved. */
export interface ReconnectBackoff {
  /** Called for each batch: a connection is open and gave this many mails, possibly none. */
  received(mails: number): void;
  /** The connection was lost or could not be opened. Returns the wait before the next one, in milliseconds. */
  lost(state: MailState): number;
}

/**
 * The longest wait after a connection that was open: on an unstable line mails must not arrive late, and a server that accepts
 * connections only to drop them is still not asked every second.
 */
const MAX_AFTER_OPEN_MS = 10_000;
/** A connection that lasted this long was a good one. */
const STABLE_MS = 60_000;

/** `now`: milliseconds of a monotonic clock. */
export function createReconnectBackoff(
  { transient, operator }: ReconnectLimits,
  now = () => performance.now(),
): ReconnectBackoff {
  const unreachable = createBackoff(transient);
  const dropped = createBackoff({ ...transient, maxMs: Math.min(transient.maxMs, MAX_AFTER_OPEN_MS) });
  const refused = createBackoff(operator);
  let openSince: number | undefined;
  return {
    received(mails) {
      openSince ??= now();
      unreachable.reset();
      refused.reset();
      if (mails > 0) dropped.reset();
    },
    lost(state) {
      const wasOpenSince = openSince;
      openSince = undefined;
      if (needsOperator(state)) return refused.next();
      if (wasOpenSince === undefined) return unreachable.next();
      if (now() - wasOpenSince >= STABLE_MS) dropped.reset();
      return dropped.next();
    },
  };
}

export interface Pauses {
  /** Resolves after this time, at the next nudge, or when the signal aborts. Never rejects. */
  wait(ms: number): Promise<void>;
  /** Ends every wait: something has changed, so a new attempt makes sense. */
  nudge(): void;
}

export function createPauses(signal: AbortSignal): Pauses {
  const waits = new Set<() => void>();
  signal.addEventListener("abort", nudge, { once: true });
  return { wait, nudge };

  async function wait(ms: number): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    waits.add(resolve);
    await promise;
    clearTimeout(timer);
    waits.delete(resolve);
  }

  function nudge(): void {
    for (const end of waits) end();
  }
}

/** What a retry needs to know. */
export interface RetryContext {
  status: StatusTracker;
  backoff: BackoffLimits;
  /** Waits this long, or until a new attempt makes sense. Rejects when the watch ends. */
  pause(ms: number): Promise<void>;
}

/** Calls the store until it works, since a full disk may have space again later. Rejects when the watch ends. */
export async function retryStore<Result>(
  call: () => Result,
  { status, backoff: limits, pause }: RetryContext,
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
