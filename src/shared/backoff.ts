export interface Backoff {
  /** The wait after the first failure, in milliseconds. It doubles with each further one. */
  firstMs: number;
  maxMs: number;
}

/** How long to wait after this many failures in a row: exponential, half of it random, so that clients do not retry in step. */
export function backoffMs(failures: number, { firstMs, maxMs }: Backoff): number {
  const waitMs = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round((waitMs * (1 + Math.random())) / 2);
}
