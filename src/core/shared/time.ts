export interface Backoff {
  /** The longest wait after the first failure, in milliseconds; the shortest is half of it. Both double with each further one. */
  firstMs: number;
  maxMs: number;
}

/** How long to wait after this many failures in a row: exponential, half of it random, so that clients do not retry in step. */
export function backoffMs(failures: number, { firstMs, maxMs }: Backoff): number {
  const waitMs = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round((waitMs * (1 + Math.random())) / 2);
}

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** How long a node holds what it has claimed, unless it renews its lease. */
export const NODE_LEASE_MS = 15_000;

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: HOUR_MS, d: DAY_MS };

/**
 * `"30m"` → 1,800,000 milliseconds. Throws a `RangeError` for a text that the configuration's schema refuses. Without a
 * regular expression, since it also runs within the call of a transform, which could see its match.
 */
export function parseDuration(text: string): number {
  const unit = Object.keys(UNIT_MS).find((each) => text.endsWith(each)) ?? "";
  const amount = text.slice(0, text.length - unit.length);
  const isNumber = amount !== "" && Array.from(amount).every((digit) => digit >= "0" && digit <= "9");
  if (!isNumber || unit === "") throw new RangeError("a duration is a number and its unit: 500ms, 30s, 30m, 24h, 7d");
  return Number(amount) * UNIT_MS[unit]!;
}

/** A duration before now, as `7d`, or a date: in milliseconds since the epoch. NaN for any other text. */
export function parseSince(text: string): number {
  return /^\d+(?:ms|s|m|h|d)$/.test(text) ? Date.now() - parseDuration(text) : Date.parse(text);
}

/** In UTC, in milliseconds since the epoch. */
export function startOfDay(now = Date.now()): number {
  return now - (now % DAY_MS);
}

/** Node's longest timer, 24 days: a longer delay would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface TimeoutOptions {
  /** At most 24 days. */
  timeoutMs: number;
  /** The rejection when the time is up. */
  timeoutError(): Error;
  /** Cancels the work. The rejection is its reason. */
  signal?: AbortSignal;
}

/**
 * Runs work with a deadline. At the deadline, or when `signal` aborts, the work's own signal aborts and the promise rejects
 * at once, even if the work ignores its signal. The later result of the work has no effect on the promise.
 */
export async function withTimeout<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { timeoutMs, timeoutError, signal }: TimeoutOptions,
): Promise<Result> {
  signal?.throwIfAborted();
  const canceled = Promise.withResolvers<never>();
  const controller = new AbortController();
  const cancel = (reason: unknown): void => {
    // Reject first: the work may reject because it was aborted, and must not win the race.
    canceled.reject(reason);
    controller.abort(reason);
  };
  const onAbort = (): void => cancel(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => cancel(timeoutError()), Math.min(timeoutMs, MAX_TIMER_MS));
  try {
    return await Promise.race([work(controller.signal), canceled.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Resolves to true when the promise settles within the time, to false when it does not. Never rejects. */
export async function settlesWithin(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(late.resolve, Math.min(timeoutMs, MAX_TIMER_MS), false);
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles like the promise, or rejects with the signal's reason when it aborts first. The promise itself continues. */
export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A text that is valid for a while, such as an access token. */
export interface Expiring {
  value: string;
  /** Milliseconds since the epoch. */
  endsAt: number;
}

export interface Kept<Context extends unknown[]> {
  /** Settles as the fetch does, or rejects with the signal's reason. */
  get(signal: AbortSignal, ...context: Context): Promise<string>;
  /** Does not return this value again. */
  forget(value: string): void;
}

/**
 * Keeps what is fetched until `marginMs` before its end. Parallel callers share one fetch, which continues when the caller
 * that started it gives up.
 */
export function keepWhileValid<Context extends unknown[]>(
  fetchValue: (...context: Context) => Promise<Expiring>,
  marginMs: number,
): Kept<Context> {
  let kept: Expiring | undefined;
  let fetching: Promise<Expiring> | undefined;
  return {
    async get(signal, ...context) {
      signal.throwIfAborted();
      if (kept && Date.now() < kept.endsAt - marginMs) return kept.value;
      fetching ??= fetchValue(...context)
        .then((next) => (kept = next))
        .finally(() => (fetching = undefined));
      return (await untilAborted(fetching, signal)).value;
    },
    forget(value) {
      if (kept?.value === value) kept = undefined;
    },
  };
}

/** A wait that can be ended early. */
export interface WakeUp {
  /** Ends all current waits, and later ones at once until `reset`. */
  wake(): void;
  /** Forgets an earlier `wake`. */
  reset(): void;
  /** Resolves to true after `wake`, to false after the time or when the signal aborts. Never rejects. */
  wait(timeoutMs: number, signal?: AbortSignal): Promise<boolean>;
}

export function createWakeUp(): WakeUp {
  const waiting = new Set<(awake: boolean) => void>();
  let isAwake = false;
  return {
    wake() {
      isAwake = true;
      for (const end of waiting) end(true);
    },
    reset: () => void (isAwake = false),
    wait(timeoutMs, signal) {
      if (isAwake || signal?.aborted) return Promise.resolve(isAwake);
      return new Promise((resolve) => {
        const timer = setTimeout(end, Math.min(timeoutMs, MAX_TIMER_MS), false);
        waiting.add(end);
        signal?.addEventListener("abort", onAbort, { once: true });

        function onAbort(): void {
          end(false);
        }
        function end(awake: boolean): void {
          clearTimeout(timer);
          waiting.delete(end);
          signal?.removeEventListener("abort", onAbort);
          resolve(awake);
        }
      });
    },
  };
}

export interface Alarm {
  /** Fires at this time (milliseconds since the epoch), unless an earlier time is set. */
  set(at: number): void;
  /** Never fires again. */
  stop(): void;
}

/** One timer for many times: it calls `onAlarm` once, at the earliest. For a time over 24 days away it may fire early. */
export function createAlarm(onAlarm: () => void): Alarm {
  let timer: NodeJS.Timeout | undefined;
  let setTo = Infinity;
  let stopped = false;

  return {
    set(at) {
      if (stopped || at >= setTo) return;
      clearTimeout(timer);
      setTo = at;
      timer = setTimeout(fire, Math.min(Math.max(at - Date.now(), 0), MAX_TIMER_MS));
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };

  function fire(): void {
    setTo = Infinity;
    onAlarm();
  }
}
