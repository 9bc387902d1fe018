import { expect, test } from "vitest";
import { parseDuration } from "./duration.ts";

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
