export interface Random {
  /** From 0 to 1, exclusive. */
  next(): number;
  /** An integer from 0 to `end`, exclusive. */
  below(end: number): number;
}

/** The same numbers for the same seed (mulberry32), so that a campaign can be repeated. */
export function createRandom(seed: number): Random {
  let state = seed;
  return { next, below: (end) => Math.floor(next() * end) };

  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
