import { setTimeout as delay } from "node:timers/promises";
import { DriverError, JournalUnavailable } from "../errors.ts";
import type { Journal } from "../journal/journal.ts";
import { type Backoff, backoffMs } from "../shared/time.ts";
import type { Log } from "../telemetry/log.ts";

export interface RetryPolicy extends Backoff {
  maxAttempts: number;
}

/** A longer `Retry-After` is shortened to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * How long to wait before the next attempt, in milliseconds; undefined when the error is permanent or no attempt is left.
 * A `Retry-After` is respected, with up to a tenth more so that clients do not return together.
 */
export function retryDelayMs(error: unknown, attempts: number, policy: RetryPolicy): number | undefined {
  if (attempts >= policy.maxAttempts) return undefined;
  if (!(error instanceof DriverError)) return backoffMs(attempts, policy);
  if (!error.retryable) return undefined;
  if (error.retryAfterMs === undefined) return backoffMs(attempts, policy);
  return Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS) * (1 + Math.random() / 10);
}

/** Restarts may interrupt work that is not at fault, so only many interruptions in a row count against it. */
const MAX_INTERRUPTED_ATTEMPTS = 20;

/**
 * Throws a permanent `DriverError` for work that was claimed far more often than the policy allows. A failed last attempt
 * would have been recorded, so each further attempt ended with the process: the work may be what kills it.
 */
export function assertAttemptsLeft(attempts: number, maxAttempts: number): void {
  if (attempts <= maxAttempts + MAX_INTERRUPTED_ATTEMPTS) return;
  throw new DriverError(`the process ended during each of the last ${MAX_INTERRUPTED_ATTEMPTS} attempts`, {
    retryable: false,
  });
}

/** A node's lease is much longer. */
const CHECK_CLAIM_AFTER_MS = 2000;

/**
 * Whether a claim still holds, asked before an effect outside. While the journal was away, the node's lease may have ended:
 * then another node has the work. A young claim is not checked.
 */
export async function isClaimHeld(claimedAt: number, check: () => Promise<boolean>): Promise<boolean> {
  return Date.now() - claimedAt < CHECK_CLAIM_AFTER_MS || check();
}

const MAX_ERROR_CHARACTERS = 500;

/** An error whose message can be shown and stored: a driver words its own, anything else is unexpected. */
export function toFailure(cause: unknown): Error {
  if (cause instanceof DriverError && cause.message.length <= MAX_ERROR_CHARACTERS) return cause;
  const text = cause instanceof DriverError ? cause.message : `unexpected error: ${String(cause)}`;
  return new Error(text.slice(0, MAX_ERROR_CHARACTERS), { cause });
}

/** The methods of a journal that return promises. */
export type DispatchJournal = Omit<Journal, "answerRuns" | "joinCommits" | "watch" | "watchChanges">;

/** A journal whose calls wait while it is unavailable. */
export function createRetryingJournal(journal: DispatchJournal, options: RetryOptions): DispatchJournal {
  const methods = Object.entries(journal).map(([name, call]: [string, (...args: never[]) => Promise<unknown>]) => [
    name,
    (...args: never[]) => retryWhileUnavailable(() => call(...args), options),
  ]);
  return Object.fromEntries(methods);
}

interface RetryOptions {
  log: Log;
  signal: AbortSignal;
}

const JOURNAL_BACKOFF = { firstMs: 200, maxMs: 10_000 };

/**
 * Repeats a call until the journal is available: the result of a turn must not be lost because the disk is full. Rejects
 * with any other error at once, and with the signal's reason when it aborts.
 */
export async function retryWhileUnavailable<Result>(
  call: () => Promise<Result>,
  { log, signal }: RetryOptions,
): Promise<Result> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof JournalUnavailable)) throw error;
      signal.throwIfAborted();
      log.warn("journal unavailable, will try again", { failures, error: error.message });
      await delay(backoffMs(failures, JOURNAL_BACKOFF), undefined, { signal });
    }
  }
}
