import { expect, test } from "vitest";
import { toMoment } from "./moment.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z");

test.for([
  ["90m", "2026-11-20T10:30:00.000Z"],
  ["7d", "2026-11-13T12:00:00.000Z"],
  ["2026-11-20T08:00:00+01:00", "2026-11-20T07:00:00.000Z"],
  ["2026-11-01", "2026-11-01T00:00:00.000Z"],
] as const)("%s", ([text, moment]) => {
  expect(toMoment(text, NOW)).toBe(moment);
});

test("nothing stays nothing, and nonsense is told", () => {
  expect(toMoment(undefined, NOW)).toBeUndefined();
  expect(() => toMoment("soon", NOW)).toThrow('"soon" is no moment');
  expect(() => toMoment("99999999999d", NOW)).toThrow("is no moment");
});
