import { DriverError } from "../errors.ts";

export interface Backoff {
  /** Longest wait before the second try; it doubles with each further one. */
  firstMs: number;
  mostMs: number;
}

export interface RetryPolicy extends Backoff {
  /** Tries in all. */
  maxAttempts: number;
}

/** A service that asks for more than this is taken to mean this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * How long to wait after so many failures in a row, in milliseconds: exponential, with full jitter, so that what failed
 * together does not come back together.
 */
export function backoffMs(failures: number, { firstMs, mostMs }: Backoff): number {
  return Math.round(Math.random() * Math.min(mostMs, firstMs * 2 ** (failures - 1)));
}

/**
 * Restarts come in a row, and what was under way at each is innocent: only what the process has not survived so many
 * times over is taken for what ends it.
 */
const MAX_CUT_OFF = 20;

/**
 * Throws a lasting `DriverError` for what is claimed far beyond its last try. A failure at that try would have been
 * recorded: each one after it ended with its process, and what kills the process must not do so for ever.
 */
export function requireTriesLeft(attempts: number, maxAttempts: number): void {
  if (attempts <= maxAttempts + MAX_CUT_OFF) return;
  throw new DriverError(`the process ended during each of the last ${MAX_CUT_OFF} tries`, { retryable: false });
}

/**
 * How long to wait before the next try, in milliseconds; undefined where none can help or none is left. The time that a
 * service named goes before our own guess.
 */
export function retryDelayMs(error: unknown, attempts: number, policy: RetryPolicy): number | undefined {
  if (attempts >= policy.maxAttempts) return undefined;
  if (!(error instanceof DriverError)) return backoffMs(attempts, policy);
  if (!error.retryable) return undefined;
  if (error.retryAfterMs === undefined) return backoffMs(attempts, policy);
  return Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS) * (1 + Math.random() / 10);
}
