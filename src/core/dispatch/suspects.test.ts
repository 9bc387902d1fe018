import { expect, test } from "vitest";
import { isGuilty } from "./suspects.ts";

const MINUTE = 60_000;
const NOW = 1_800_000_000_000;

/** A run that has ended the process four times within a second each, and nothing else has, for over an hour. */
const GUILTY = { since: NOW - 70 * MINUTE, alone: 4, longestMs: 1000, otherEnds: 2, otherMs: 60 * MINUTE };

test.each([
  ["alone it always ends the process at once, and nothing else does", {}, true],
  ["it has been alone twice", { alone: 2 }, false],
  ["the first interruption is not an hour ago", { since: NOW - 59 * MINUTE }, false],
  ["the process ends as soon without it", { longestMs: 4000, otherEnds: 802, otherMs: 60 * MINUTE }, false],
  ["the process ends about as often without it", { longestMs: 3 * MINUTE, otherEnds: 8, otherMs: 60 * MINUTE }, false],
  ["it takes minutes to end a process that lives for hours", { longestMs: 10 * MINUTE, otherMs: 300 * MINUTE }, true],
  ["once it lived as long as others do", { longestMs: 40 * MINUTE }, false],
  ["something else ends the process too, much later", { otherEnds: 10, otherMs: 60 * MINUTE }, true],
  ["the process has hardly lived without it", { otherMs: 20_000 }, false],
])("%s", (_, change, expected) => {
  const { since, ...survival } = { ...GUILTY, ...change };
  expect(isGuilty({ times: 7, since }, survival, NOW)).toBe(expected);
});
