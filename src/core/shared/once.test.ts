import { expect, test } from "vitest";
import { once } from "./once.ts";

test("gives the first result, and tries again after a failure", async () => {
  let calls = 0;
  const read = once(async () => {
    if (++calls === 1) throw new Error("The store is away.");
    return calls;
  });
  await expect(read()).rejects.toThrow("The store is away.");
  expect(await Promise.all([read(), read()])).toEqual([2, 2]);
  expect(await read()).toBe(2);
});
