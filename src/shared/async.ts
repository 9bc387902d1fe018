/** What the promise settles to; rejects with the signal's reason where that comes first. The promise goes on for those who share it. */
export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The longest delay of a timer, 24 days: a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

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
export async function within<Result>(work: (signal: AbortSignal) => Promise<Result>, limits: Limits): Promise<Result> {
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
  const timer = setTimeout(() => end(limits.toTimeout()), Math.min(limits.timeoutMs, MAX_DELAY_MS));
  try {
    return await Promise.race([work(aborter.signal), ended.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

export interface Alarm {
  /** Rings at this moment (milliseconds since the epoch), or earlier if it was set to an earlier one. */
  set(at: number): void;
  /** Never rings again. */
  stop(): void;
}

/** One timer for many moments: it rings at the earliest, once; a moment far off may ring early. */
export function createAlarm(ring: () => void): Alarm {
  let timer: NodeJS.Timeout | undefined;
  let setTo = Infinity;
  let stopped = false;

  return {
    set(at) {
      if (stopped || at >= setTo) return;
      clearTimeout(timer);
      setTo = at;
      timer = setTimeout(go, Math.min(Math.max(at - Date.now(), 0), MAX_DELAY_MS));
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };

  function go(): void {
    setTo = Infinity;
    ring();
  }
}
