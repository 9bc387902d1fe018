import type { Tally, TallyName } from "../journal/records/tally.ts";

export const TALLY_MS = 5 * 60_000;

/** Counts by five minutes, until the journal has them. */
export interface Tallies {
  add(what: TallyName, n?: number, mapping?: string): void;
  /** The counts since the last time, in whole numbers. The first ones of five minutes say that the service runs. */
  take(): Tally[];
  /** Counts what was taken and could not be written. */
  giveBack(tallies: readonly Tally[]): void;
}

export function createTallies(now: () => number = Date.now): Tallies {
  let counts = new Map<string, Tally>();
  let upAt = -1;

  return {
    add: (what, n = 1, mapping = "") => add({ at: startOf(now()), mapping, what, n }),
    take() {
      const at = startOf(now());
      if (at !== upAt) add({ at, mapping: "", what: "up", n: 1 });
      upAt = at;
      const taken = Array.from(counts.values(), (tally) => ({ ...tally, n: Math.round(tally.n) }));
      counts = new Map();
      return taken;
    },
    giveBack: (tallies) => tallies.forEach(add),
  };

  function add({ at, mapping, what, n }: Tally): void {
    const key = `${at} ${what} ${mapping}`;
    const known = counts.get(key)?.n ?? 0;
    counts.set(key, { at, mapping, what, n: what === "slowestMs" ? Math.max(known, n) : known + n });
  }
}

function startOf(at: number): number {
  return at - (at % TALLY_MS);
}
