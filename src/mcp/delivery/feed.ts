import type { NumberedPublication, Publications } from "../../core/journal/journal.ts";

/** The publications for all subscriptions: what is new is read once for all of them. */
export interface Feed {
  /** Reads what is new, up to a position. */
  advance(upTo: number): Promise<void>;
  /** Some after a position, at least one if there is one up to that of `advance`. */
  after(position: number): NumberedPublication[] | Promise<NumberedPublication[]>;
}

const MAX_KEPT = 1000;
const MAX_KEPT_LENGTH = 16_000_000;
const BATCH = 100;

export function createFeed(publications: Pick<Publications, "read">, from: number): Feed {
  /** With consecutive positions up to `end`. */
  let kept: NumberedPublication[] = [];
  let keptLength = 0;
  let end = from;

  return {
    async advance(upTo) {
      // Who is further behind reads from the journal.
      if (upTo - end > MAX_KEPT) {
        keep([]);
        end = upTo - MAX_KEPT;
      }
      while (end < upTo) {
        const rows = await publications.read({ after: end, upTo, limit: BATCH });
        // A gap: rows before it were deleted.
        if (rows[0]?.position !== end + 1) keep([]);
        keep(rows);
        end = rows.length < BATCH ? upTo : rows.at(-1)!.position;
      }
    },
    after(position) {
      if (position >= end) return [];
      const [first] = kept;
      const start = position + 1 - (first?.position ?? Infinity);
      if (start >= 0) return kept.slice(start, start + BATCH);
      return publications.read({ after: position, upTo: end, limit: BATCH });
    },
  };

  /** Without any: forgets what is kept. */
  function keep(rows: NumberedPublication[]): void {
    if (rows.length === 0) [kept, keptLength] = [[], 0];
    for (const row of rows) {
      const before = kept.at(-1);
      if (before && row.position !== before.position + 1) [kept, keptLength] = [[], 0];
      kept.push(row);
      keptLength += row.data?.length ?? 0;
    }
    while (kept.length > MAX_KEPT || keptLength > MAX_KEPT_LENGTH) keptLength -= kept.shift()?.data?.length ?? 0;
  }
}
