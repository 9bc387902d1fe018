/** The longest time that a timer can be set to, 24 days: a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

export interface Limits {
  /** Over 24 days: 24 days. */
  timeoutMs: number;
  /** What the work ends with when its time is up. */
  toTimeout(): Error;
  /** Ends the work at once, with its own reason. */
  signal: AbortSignal;
}

/**
 * Gives work a time and an end. When either comes, the signal that the work was given aborts and this rejects,
 * whether the work heeds the signal or not: nothing that it still says is heard.
 */
export async function within<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  limits: Limits,
): Promise<Result> {
  const { signal } = limits;
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const aborter = new AbortController();
  const end = (reason: unknown): void => {
    // the rejection first: work that rejects because it was aborted must not get in before
    ended.reject(reason);
    aborter.abort(reason);
  };
  const onAbort = (): void => end(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => end(limits.toTimeout()), Math.min(limits.timeoutMs, LONGEST_MS));
  try {
    return await Promise.race([work(aborter.signal), ended.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
