import { describe, expect, test } from "vitest";
import { advance, parsePosition, readOnFrom, toRange, writePosition } from "./position.ts";

const since = 1_700_000_000_000;
const folder = { uidValidity: 7n, uidNext: 101 };

describe("readOnFrom", () => {
  test("reads on where the folder is the same", () => {
    const position = { uidValidity: 7n, uid: 50 };
    expect(readOnFrom(position, folder, since)).toBe(position);
    expect(readOnFrom({ uidValidity: 7n, uid: 100 }, folder, since)).toEqual({ uidValidity: 7n, uid: 100 });
  });

  test.each([
    ["there is no position yet", undefined],
    ["the uids are others", { uidValidity: 6n, uid: 50 }],
    ["an older state of the folder was put back", { uidValidity: 7n, uid: 101 }],
    ["it makes no sense", { uidValidity: 7n, uid: Number.NaN }],
  ])("looks through all that lies there where %s", (_, position) => {
    expect(readOnFrom(position, folder, since)).toEqual({
      uidValidity: 7n,
      uid: 0,
      backlog: { until: 100, since },
    });
  });

  test("has nothing to look through in an empty folder", () => {
    expect(readOnFrom(undefined, { uidValidity: 7n, uidNext: 1 }, since)).toEqual({
      uidValidity: 7n,
      uid: 0,
    });
  });
});

test("a backlog ends with its last mail", () => {
  const position = { uidValidity: 7n, uid: 0, backlog: { until: 100, since } };
  expect(advance(position, 99)).toEqual({ ...position, uid: 99 });
  expect(advance(position, 100)).toEqual({ uidValidity: 7n, uid: 100 });
});

test.each([
  { uidValidity: 2n ** 32n, uid: 12 },
  { uidValidity: 7n, uid: 12, backlog: { until: 100, since } },
])("a position is read as it was written", (position) => {
  expect(parsePosition(writePosition(position))).toEqual(position);
});

test.each([undefined, "", "12", "null", "{}", '{"uidValidity":"x","uid":1}', '{"uidValidity":7,"uid":1}'])(
  "%s is no position",
  (text) => {
    expect(parsePosition(text)).toBeUndefined();
  },
);

test.each([
  [[], ""],
  [[5], "5"],
  [[1, 2, 3], "1:3"],
  [[1, 2, 4, 7, 8], "1:2,4,7:8"],
])("%j", (uids, range) => {
  expect(toRange(uids)).toBe(range);
});
