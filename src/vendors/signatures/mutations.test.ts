import { expect, test } from "vitest";
import { runMutations } from "../../../test/support/mutations.ts";

// `npm run test:vendor-sdks` tries a million.
test("no change of a right request is accepted, and nothing throws", async () => {
  const { tried, ...failures } = await runMutations(20_000, 1);
  expect(failures).toEqual({ accepted: [], thrown: [] });
  expect(tried).toBe(20_000);
});
