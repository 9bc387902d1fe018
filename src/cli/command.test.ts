import { expect, test, vi } from "vitest";
import { toTime } from "./command.ts";

test.for([
  ["90m", "2026-11-20T10:30:00.000Z"],
  ["7d", "2026-11-13T12:00:00.000Z"],
  ["2026-11-20T08:00:00+01:00", "2026-11-20T07:00:00.000Z"],
  ["2026-11-01", "2026-11-01T00:00:00.000Z"],
] as const)("--since %s", ([text, moment]) => {
  vi.useFakeTimers({ now: Date.parse("2026-11-20T12:00:00Z") });
  expect(toTime(text)).toBe(moment);
  vi.useRealTimers();
});

test.each(["soon", "99999999999d", ""])("--since %j is refused", (text) => {
  expect(() => toTime(text)).toThrow("Expected a duration before now");
});
