import * as fc from "fast-check";

const { SEED = 1, CASES = 1 } = process.env;

/**
 * fast-check with the same cases in every run, so that a failure in CI can be reproduced locally. `SEED=7 CASES=20 npm test`
 * tries other cases, and twenty times as many.
 */
fc.configureGlobal({ seed: Number(SEED) });

export * from "fast-check";

export const assert = ((property: fc.IRawProperty<unknown>, { numRuns = 100 }: { numRuns?: number } = {}) =>
  fc.assert(property, { numRuns: numRuns * Number(CASES) })) as typeof fc.assert;

/** Any character. `unit: "binary"` of fast-check first makes a table of all, which takes a second. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
