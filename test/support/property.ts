import * as fc from "fast-check";

/**
 * fast-check with the same cases in every run, so that a failure in CI can be reproduced locally. `SEED=7 npm test` tries
 * other cases.
 */
fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) });

export * from "fast-check";
