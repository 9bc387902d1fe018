const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `"30m"` → 1,800,000 milliseconds. Throws a `RangeError` for a text that the configuration's schema refuses. */
export function parseDuration(text: string): number {
  const [, amount, unit = ""] = /^(\d+)(\D+)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs === undefined) throw new RangeError("a duration is a number and its unit: 500ms, 30s, 30m, 24h, 7d");
  return Number(amount) * unitMs;
}

const DAY_MS = 86_400_000;

/** In UTC, in milliseconds since the epoch. */
export function startOfDay(now = Date.now()): number {
  return now - (now % DAY_MS);
}
