import { DriverError } from "../errors.ts";
import { type Backoff, backoffMs } from "../shared/backoff.ts";

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

const MAX_ERROR_CHARACTERS = 500;

/** An error whose message can be shown and stored: a driver words its own, anything else is unexpected. */
export function toFailure(cause: unknown): Error {
  if (cause instanceof DriverError && cause.message.length <= MAX_ERROR_CHARACTERS) return cause;
  const text = cause instanceof DriverError ? cause.message : `unexpected error: ${String(cause)}`;
  return new Error(text.slice(0, MAX_ERROR_CHARACTERS), { cause });
}
