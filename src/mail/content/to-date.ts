const DAY_MS = 86_400_000;

/** When a mail was written as its Date header says, if it can be; else when it was received. Both ISO 8601. */
export function toDate(header: string, receivedAt: number): string {
  const written = parseDate(header);
  const isSane = written >= 0 && written <= receivedAt + DAY_MS;
  return new Date(isSane ? written : receivedAt).toISOString();
}

/** Milliseconds since the epoch, NaN for what is no date. A zone that nobody knows, or none, counts as UTC. */
function parseDate(header: string): number {
  const date = header
    .slice(0, 200)
    .replaceAll(/\([^()]*\)/g, " ")
    .trim();
  // What follows takes all sorts of things for a date, a bare number among them.
  if (!/\d:\d\d/.test(date)) return Number.NaN;
  const zoned = /(?:[+-]\d{4}|[a-z])$/i.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(zoned) ? Date.parse(`${date.replace(/[a-z]+$/i, "")} +0000`) : zoned;
}
