import { expect, test } from "vitest";
import { createId } from "./id.ts";

test("ids are unique UUIDv7 that sort in the order of creation", () => {
  const ids = Array.from({ length: 5_000 }, createId);
  expect(ids.every((id) => /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});
