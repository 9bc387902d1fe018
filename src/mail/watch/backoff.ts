import { messageOf } from "../../errors.ts";
import { createWakeUp } from "../../shared/async.ts";
import { type Backoff as BackoffLimits, backoffMs } from "../../shared/backoff.ts";
import { type MailState, needsOperator, type StatusTracker } from "./status.ts";

export interface Backoff {
  /** How long to wait after one more failure, in milliseconds. */
  next(): number;
  /** After a success: the next failure counts as the first. */
  reset(): void;
}

export function createBackoff(limits: BackoffLimits): Backoff {
  let failures = 0;
  return {
    next: () => backoffMs((failures += 1), limits),
    reset: () => void (failures = 0),
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
  const wakeUp = createWakeUp();
  return {
    wait: async (ms) => void (await wakeUp.wait(ms, signal)),
    nudge() {
      wakeUp.wake();
      wakeUp.reset();
    },
  };
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
  call: () => Promise<Result>,
  { status, backoff: limits, pause }: RetryContext,
): Promise<Result> {
  const backoff = createBackoff(limits);
  for (let failures = 0; ; failures += 1) {
    try {
      const result = await call();
      if (failures > 0) status.resume();
      return result;
    } catch (error) {
      const waitMs = backoff.next();
      status.enter("store-failed", { error: `the mail store: ${messageOf(error)}`, waitMs });
      await pause(waitMs);
    }
  }
}
