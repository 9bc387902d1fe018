import { expect, test } from "vitest";
import { createWeakCache } from "./weak-cache.ts";

test("a result is made once while somebody has it", () => {
  const cache = createWeakCache<{ key: string }>();
  const first = cache.get("a", () => ({ key: "a" }));
  expect(cache.get("a", () => ({ key: "made again" }))).toBe(first);
  expect(cache.get("b", () => ({ key: "b" }))).toEqual({ key: "b" });
});

test("an error is not kept", () => {
  const cache = createWeakCache<{ key: string }>();
  const fail = () => {
    throw new Error("no");
  };
  expect(() => cache.get("a", fail)).toThrow("no");
  expect(cache.get("a", () => ({ key: "a" }))).toEqual({ key: "a" });
});
