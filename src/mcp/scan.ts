import type { NumberedPublication, Publications } from "../core/journal/journal.ts";

/** Most publications that a poll looks at, and most characters of data in its answer. */
const MAX_SCANNED = 5000;
const MAX_LENGTH = 1_000_000;
const BATCH = 200;

export interface Range {
  after: number;
  upTo: number;
  name: string;
  /** How many are given. */
  limit: number;
  /** Older ones are left out. */
  oldest: number;
}

export interface Scan {
  events: NumberedPublication[];
  /** Every position up to this one was looked at. */
  after: number;
  /** Some were too old. */
  truncated: boolean;
  hasMore: boolean;
}

/** Reads the publications of a range that are wanted. */
export async function scanPublications(
  { read }: Pick<Publications, "read">,
  { after, upTo, name, limit, oldest }: Range,
  isWanted: (publication: NumberedPublication) => boolean,
): Promise<Scan> {
  const found: Scan = { events: [], after, truncated: false, hasMore: true };
  let length = 0;
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += BATCH) {
    const rows = await read({ after: found.after, upTo, name, limit: BATCH });
    for (const row of rows) {
      if (!take(row)) return found;
      found.after = row.position;
    }
    if (rows.length < BATCH) return { ...found, after: Math.max(found.after, upTo), hasMore: false };
  }
  return found;

  /** False: it is for the next answer. */
  function take(row: NumberedPublication): boolean {
    if (!isWanted(row)) return true;
    if (row.at < oldest) {
      found.truncated = true;
      return true;
    }
    const size = row.data?.length ?? 0;
    const { events } = found;
    if (events.length >= limit || (events.length > 0 && length + size > MAX_LENGTH)) return false;
    events.push(row);
    length += size;
    return true;
  }
}
