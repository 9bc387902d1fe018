import { messageOf } from "../../errors.ts";
import { type Backoff, backoffMs } from "../../shared/time.ts";
import { type MailState, needsOperator, type StatusTracker } from "./status.ts";

export interface ReconnectLimits {
  /** After a failure that may end by itself. */
  transient: Backoff;
  /** After a failure that an operator must fix: more attempts could lock the account. */
  operator: Backoff;
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
  const afterOpen = { ...transient, maxMs: Math.min(transient.maxMs, MAX_AFTER_OPEN_MS) };
  /** Failures in a row: connections that could not be opened, open ones that were lost, and problems for an operator. */
  let unreachable = 0;
  let dropped = 0;
  let refused = 0;
  let openSince: number | undefined;
  return {
    received(mails) {
      openSince ??= now();
      unreachable = 0;
      refused = 0;
      if (mails > 0) dropped = 0;
    },
    lost(state) {
      const wasOpenSince = openSince;
      openSince = undefined;
      if (needsOperator(state)) return backoffMs((refused += 1), operator);
      if (wasOpenSince === undefined) return backoffMs((unreachable += 1), transient);
      if (now() - wasOpenSince >= STABLE_MS) dropped = 0;
      return backoffMs((dropped += 1), afterOpen);
    },
  };
}

/** The facts that decide about a retry. */
export interface RetryContext {
  status: StatusTracker;
  backoff: Backoff;
  /** Waits this long, or until a new attempt makes sense. Rejects when the watch ends. */
  pause(ms: number): Promise<void>;
}

/** Calls the store until it works, since a full disk may have space again later. Rejects when the watch ends. */
export async function retryStore<Result>(
  call: () => Promise<Result>,
  { status, backoff, pause }: RetryContext,
): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      const result = await call();
      if (attempts > 1) status.resume();
      return result;
    } catch (error) {
      const waitMs = backoffMs(attempts, backoff);
      status.enter("store-failed", { error: `the mail store: ${messageOf(error)}`, waitMs });
      await pause(waitMs);
    }
  }
}
