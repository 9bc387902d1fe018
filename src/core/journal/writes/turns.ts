import type { ClaimedRun } from "../records/run.ts";
import { type Row, text } from "../columns.ts";
import { byArrival } from "../rows.ts";

/*
 * Mappings take turns, so that a burst of one does not delay the others. A claim takes from the mapping with the fewest
 * running runs, then the one that this process served longest ago, then by arrival. Built-in hooks are one mapping.
 */

/** Mappings in the order in which this process last claimed of them. */
export type Served = Set<string>;

export function noteServed(served: Served, runs: readonly ClaimedRun[]): void {
  for (const { mapping = "" } of runs) {
    served.delete(mapping);
    served.add(mapping);
  }
}

/** The place of each mapping in the order; one that is not served yet has none, and comes first. */
export function placesOf(served: Served): Map<string, number> {
  return new Map([...served].map((mapping, index) => [mapping, index + 1]));
}

/** Takes those whose turn it is of each mapping's due runs, in their order. `running`: how many of a mapping are. */
export function takeTurns(
  due: readonly Row[][],
  { limit, running, served }: { limit: number; running: ReadonlyMap<string, number>; served: Served },
): Row[] {
  const places = placesOf(served);
  const queued = due.flatMap((rows) =>
    rows.map((row, nth) => {
      const mapping = text(row.mapping);
      return { row, order: [(running.get(mapping) ?? 0) + nth, nth, places.get(mapping) ?? 0] };
    }),
  );
  const sorted = queued.toSorted((a, b) => compare(a.order, b.order) || byArrival(a.row, b.row));
  return sorted
    .slice(0, limit)
    .map(({ row }) => row)
    .toSorted(byArrival);
}

function compare(one: number[], other: number[]): number {
  const index = one.findIndex((value, at) => value !== other[at]);
  return index === -1 ? 0 : one[index]! - other[index]!;
}
