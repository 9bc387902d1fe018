import { expect, test } from "vitest";
import { fromCursor, toCursor } from "./occurrence.ts";

const STATE = { position: 10, swept: 4, version: 1 };

test.each([
  ["none", undefined, { after: 10, truncated: false }],
  ["the newest", toCursor("s", 10), { after: 10, truncated: false }],
  ["one that is kept", toCursor("s", 4), { after: 4, truncated: false }],
  ["one that retention has deleted", toCursor("s", 3), { after: 4, truncated: true }],
  ["one of the future", toCursor("s", 11), { after: 10, truncated: true }],
  ["one of another store", toCursor("t", 5), { after: 10, truncated: true }],
  ["no number", "s.x", { after: 10, truncated: true }],
  ["a huge number", `s.${"9".repeat(400)}`, { after: 10, truncated: true }],
])("a cursor that is %s", (_what, cursor, expected) => {
  expect(fromCursor(cursor, "s", STATE)).toEqual(expected);
});
