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

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `"30m"` → 1,800,000 milliseconds. Throws a `RangeError` for a text that the configuration's schema refuses. */
export function parseDuration(text: string): number {
  const [, amount, unit = ""] = /^(\d+)(\D+)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs === undefined) throw new RangeError("a duration is a number and its unit: 500ms, 30s, 30m, 24h, 7d");
  return Number(amount) * unitMs;
}

/** A duration before now, as `7d`, or a date: in milliseconds since the epoch. NaN for any other text. */
export function parseSince(text: string): number {
  return /^\d+(?:ms|s|m|h|d)$/.test(text) ? Date.now() - parseDuration(text) : Date.parse(text);
}

const DAY_MS = 86_400_000;

/** In UTC, in milliseconds since the epoch. */
export function startOfDay(now = Date.now()): number {
  return now - (now % DAY_MS);
}
