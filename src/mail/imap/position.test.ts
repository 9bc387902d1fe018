import { describe, expect, test } from "vitest";
import { advance, parsePosition, resumeFrom, writePosition } from "./imap.ts";

const since = 1_700_000_000_000;
const folder = { uidValidity: 7n, uidNext: 101 };

describe("resumeFrom", () => {
  test("continues in the same folder", () => {
    const position = { uidValidity: 7n, uid: 50 };
    expect(resumeFrom(position, folder, since)).toBe(position);
    expect(resumeFrom({ uidValidity: 7n, uid: 100 }, folder, since)).toEqual({ uidValidity: 7n, uid: 100 });
  });

  test.each([
    ["there is no position", undefined],
    ["the folder has other uids", { uidValidity: 6n, uid: 50 }],
    ["an earlier state of the folder was restored", { uidValidity: 7n, uid: 101 }],
    ["the position is broken", { uidValidity: 7n, uid: Number.NaN }],
  ])("starts over if %s", (_, position) => {
    expect(resumeFrom(position, folder, since)).toEqual({
      uidValidity: 7n,
      uid: 0,
      backlog: { until: 100, since },
    });
  });

  test.each([
    ["the newest mail, if `since` is from a clock that was ahead", { newest: since - 5 }, since - 5],
    ["`since`, if mail came later", { newest: since + 5 }, since],
    ["where an unfinished backlog began", { newest: since - 5, backlog: { until: 9, since: since - 9 } }, since - 9],
  ])("starts over at %s", (_, parts, expected) => {
    const { backlog } = resumeFrom({ uidValidity: 6n, uid: 1, ...parts }, folder, since);
    expect(backlog).toEqual({ until: 100, since: expected });
  });

  test("begins at the next uid without `since`", () => {
    expect(resumeFrom(undefined, folder, undefined)).toEqual({ uidValidity: 7n, uid: 100 });
  });

  test("starts over where it began without `since`", () => {
    const { backlog } = resumeFrom({ uidValidity: 6n, uid: 1, newest: since + 5, begun: since - 5 }, folder, undefined);
    expect(backlog).toEqual({ until: 100, since: since - 5 });
  });

  test("has no backlog in an empty folder", () => {
    expect(resumeFrom(undefined, { uidValidity: 7n, uidNext: 1 }, since)).toEqual({
      uidValidity: 7n,
      uid: 0,
    });
  });
});

test("drops the backlog after its last mail", () => {
  const position = { uidValidity: 7n, uid: 0, newest: 5, backlog: { until: 100, since } };
  expect(advance(position, 99, 3)).toEqual({ ...position, uid: 99 });
  expect(advance(position, 100, 8)).toEqual({ uidValidity: 7n, uid: 100, newest: 8 });
});

test.each([
  { uidValidity: 2n ** 32n, uid: 12 },
  { uidValidity: 7n, uid: 12, newest: 3, begun: 2, backlog: { until: 100, since } },
])("reads back what was written", (position) => {
  expect(parsePosition(writePosition(position))).toEqual(position);
});

test.each([undefined, "", "12", "null", "{}", '{"uidValidity":"x","uid":1}', '{"uidValidity":7,"uid":1}'])(
  "rejects %s",
  (text) => {
    expect(parsePosition(text)).toBeUndefined();
  },
);
