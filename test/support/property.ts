import * as fc from "fast-check";

/**
 * fast-check with the same cases in every run, so that a failure in CI can be reproduced locally. `SEED=7 npm test` tries
 * other cases.
 */
fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) });

export * from "fast-check";

/** Any character. `unit: "binary"` of fast-check first makes a table of all, which takes a second. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
