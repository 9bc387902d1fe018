import { expect, test } from "vitest";
import { backoffMs, parseDuration } from "./time.ts";

test.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["30m", 1_800_000],
  ["24h", 86_400_000],
  ["7d", 604_800_000],
])("%s", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(["", "30", "m", "30 m", "-1s", "1.5h", "30w"])("refuses %j", (text) => {
  expect(() => parseDuration(text)).toThrow(RangeError);
});

test.each([
  [1, 100],
  [2, 200],
  [3, 400],
  [10, 1000],
  [2000, 1000],
])("after %i failures the wait is between half of %i ms and all of it", (failures, max) => {
  const waits = Array.from({ length: 500 }, () => backoffMs(failures, { firstMs: 100, maxMs: 1000 }));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(max / 2);
  expect(Math.min(...waits)).toBeLessThan(max * 0.6);
  expect(Math.max(...waits)).toBeLessThanOrEqual(max);
  expect(Math.max(...waits)).toBeGreaterThan(max * 0.9);
});
