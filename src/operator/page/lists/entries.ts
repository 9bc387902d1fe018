import type { EntryView } from "../api-client.ts";

/** The known entries of a session, without a gap. */
export interface Entries {
  /** Oldest first. */
  entries: EntryView[];
  hasOlder: boolean;
}

/**
 * Adds a page: the last `size` entries before a cursor. A known entry is replaced. A page that does not reach the known
 * entries replaces them all, because there would be a gap.
 */
export function addPage(
  known: Entries | undefined,
  page: readonly EntryView[],
  { before, size }: { before: number; size: number },
): Entries {
  const isFull = page.length === size;
  const [first] = page;
  const newest = known?.entries.at(-1)?.seq ?? -1;
  if (!known || (first !== undefined && isFull && first.seq > newest)) return { entries: [...page], hasOlder: isFull };
  const bySeq = new Map([...known.entries, ...page].map((entry) => [entry.seq, entry]));
  const entries = [...bySeq.values()].toSorted((one, other) => one.seq - other.seq);
  const oldest = known.entries[0]?.seq ?? before;
  return { entries, hasOlder: before <= oldest || first === undefined ? isFull : known.hasOlder };
}
