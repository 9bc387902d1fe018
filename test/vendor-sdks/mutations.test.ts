import { expect, test } from "vitest";
import { runMutations } from "../support/mutations.ts";

test.each([1, 2, 3, 4])(
  "a quarter of a million changed requests, seed %i: none accepted, nothing thrown",
  async (seed) => {
    const { accepted, thrown } = await runMutations(250_000, seed);
    expect({ accepted, thrown }).toEqual({ accepted: [], thrown: [] });
  },
);
