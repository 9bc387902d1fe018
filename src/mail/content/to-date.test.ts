import { expect, test } from "vitest";
import { toDate } from "./to-date.ts";

const RECEIVED = "2026-11-20T12:00:00.000Z";

test.each([
  ["Fri, 20 Nov 2026 10:08:00 +0100", "2026-11-20T09:08:00.000Z"],
  ["20 Nov 2026 10:08 +0100 (CET)", "2026-11-20T09:08:00.000Z"],
  ["Fri, 20 Nov 2026 04:08:00 EST", "2026-11-20T09:08:00.000Z"],
  ["Fri, 20 Nov 2026 09:08:00 GMT", "2026-11-20T09:08:00.000Z"],
  ["Fri, 20 Nov 2026 09:08:00", "2026-11-20T09:08:00.000Z"],
  ["Fri, 20 Nov 2026 09:08:00 XYZT", "2026-11-20T09:08:00.000Z"],
  ["Fri,  6 Nov  98 09:08:00 +0000", "1998-11-06T09:08:00.000Z"],
])("%j is a date", (header, date) => {
  expect(toDate(header, Date.parse(RECEIVED))).toBe(date);
});

test.each([
  "",
  "yesterday",
  "1",
  "Thu, 31 Foo 2026 25:61",
  "Fri, 20 Nov 2036 10:08:00 +0100",
  "1 Jan 1950 10:00 +0000",
  "9".repeat(5000),
])("%j is none: when it was received counts", (header) => {
  expect(toDate(header, Date.parse(RECEIVED))).toBe(RECEIVED);
});
