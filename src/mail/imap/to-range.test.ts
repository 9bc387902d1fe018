import { expect, test } from "vitest";
import { toRange } from "./to-range.ts";

test.each([
  [[], ""],
  [[5], "5"],
  [[1, 2, 3], "1:3"],
  [[1, 2, 4, 7, 8], "1:2,4,7:8"],
])("%j", (uids, range) => {
  expect(toRange(uids)).toBe(range);
});
