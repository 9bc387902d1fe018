import { expect, test } from "vitest";
import { formatPosition, laterRecord, parsePosition } from "./position.ts";

test.each([
  { historyId: "179518051848910062797", readAt: 5 },
  { historyId: "1", readAt: 5, backlog: { since: 3, given: ["a"] } },
])("what was written is read: %o", (position) => {
  expect(parsePosition(formatPosition(position))).toEqual(position);
});

test.each([
  undefined,
  "",
  "{",
  "null",
  "[]",
  '{"historyId":"1"}',
  '{"historyId":5,"readAt":5}',
  '{"historyId":"x","readAt":5}',
])("anything else is none: %s", (text) => {
  expect(parsePosition(text)).toBeUndefined();
});

test.each([
  ["9", "10", "10"],
  ["10", "9", "10"],
  ["179518051848910062797", "179518051848910062798", "179518051848910062798"],
])("of the records %s and %s the later is %s", (one, other, later) => {
  expect(laterRecord(one, other)).toBe(later);
});
