export interface Limits {
  /** At most 2^31 - 1. */
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
  const timer = setTimeout(() => end(limits.toTimeout()), limits.timeoutMs);
  try {
    return await Promise.race([work(aborter.signal), ended.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
