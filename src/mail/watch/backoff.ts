export interface BackoffLimits {
  /** The wait after the first failure, in milliseconds; it doubles with each further one. */
  firstMs: number;
  mostMs: number;
}

export interface Backoff {
  /** How long to wait after one more failure, in milliseconds. */
  next(): number;
  /** After a success: the next failure is the first one. */
  reset(): void;
}

/** Exponential, with up to a quarter more by chance: what failed together does not come back together. */
export function createBackoff({ firstMs, mostMs }: BackoffLimits): Backoff {
  let failures = 0;
  return {
    next() {
      const waitMs = Math.min(mostMs, firstMs * 2 ** failures);
      failures += 1;
      return Math.round(waitMs * (1 + Math.random() / 4));
    },
    reset() {
      failures = 0;
    },
  };
}
