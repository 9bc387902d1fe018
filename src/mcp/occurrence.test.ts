import { expect, test } from "vitest";
import { fromCursor, toCursor } from "./occurrence.ts";

/** Ten publications, of which four are deleted. */
const STORE = {
  state: async () => ({ position: 10, swept: 4, sweptId: "e4", version: 1 }),
  idAt: async (position: number) => (position >= 4 && position <= 10 ? `e${position}` : undefined),
};
const own = (position: number, store = "s"): string => toCursor(store, { position, id: `e${position}` });
const OLDEST = { after: 4, truncated: true };

test.each([
  ["none", undefined, { after: 10, truncated: false }],
  ["the newest", own(10), { after: 10, truncated: false }],
  ["one that is kept", own(5), { after: 5, truncated: false }],
  ["that of the last that retention has deleted", own(4), { after: 4, truncated: false }],
  ["one that retention has deleted", own(3), OLDEST],
  ["one of the future", own(11), OLDEST],
  ["one of another store", own(5, "t"), OLDEST],
  ["one of the same position in another history", toCursor("s", { position: 7, id: "other" }), OLDEST],
  ["the beginning, which is deleted", toCursor("s", { position: 0, id: "" }), OLDEST],
  ["no number", "s.x", OLDEST],
  ["too short for a position", "s.123456", OLDEST],
  ["no cursor at all", "7", OLDEST],
  ["a huge number", `s.${"9".repeat(400)}`, OLDEST],
])("a cursor that is %s", async (_what, cursor, expected) => {
  expect(await fromCursor(cursor, "s", STORE)).toEqual(expected);
});
