/** How many different things are remembered for clients that come back. */
const MAX_ITEMS = 20_000;

/**
 * The latest changes in order, each thing once: a change of something that is in here already replaces the earlier one, and
 * gets a later number.
 */
export interface ChangeRing<Item> {
  add(key: string, item: Item): void;
  /** The number of the latest change. */
  last(): number;
  /** Whether everything after this number is still here. */
  has(seq: number): boolean;
  /** The first `limit` changes after this number, oldest first; undefined if some are not here any more. */
  after(seq: number, limit: number): (Item & { seq: number })[] | undefined;
}

/** Numbers begin at the clock's microseconds, so that those of an earlier process are never taken for ours. */
export function createChangeRing<Item extends object>(max = MAX_ITEMS, now = Date.now()): ChangeRing<Item> {
  /** Ascending; replaced ones are removed together, since each removal would move the rest. */
  let entries: Entry<Item>[] = [];
  const latest = new Map<string, Entry<Item>>();
  let last = now * 1000;
  /** Everything after this one is in `entries`. */
  let forgotten = last;

  return {
    add(key, item) {
      const earlier = latest.get(key);
      if (earlier) earlier.isReplaced = true;
      const entry = { ...item, seq: ++last, key, isReplaced: false };
      entries.push(entry);
      // Deleted first, so that the order of the map is that of the numbers.
      latest.delete(key);
      latest.set(key, entry);
      if (latest.size > max) forgetOldest();
      if (entries.length > 2 * max) entries = [...latest.values()];
    },
    last: () => last,
    has,
    after(seq, limit) {
      if (!has(seq)) return undefined;
      const found: (Item & { seq: number })[] = [];
      for (let index = firstAfter(entries, seq); index < entries.length && found.length < limit; index++) {
        const entry = entries[index];
        if (entry && !entry.isReplaced) found.push(entry);
      }
      return found;
    },
  };

  function has(seq: number): boolean {
    return seq >= forgotten && seq <= last;
  }

  function forgetOldest(): void {
    const [oldest] = latest.values();
    if (!oldest) return;
    oldest.isReplaced = true;
    latest.delete(oldest.key);
    forgotten = oldest.seq;
  }
}

type Entry<Item> = Item & { seq: number; key: string; isReplaced: boolean };

/** By bisection. */
function firstAfter(entries: { seq: number }[], seq: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
