import { expect, test } from "vitest";
import { cutText, takeWithin } from "./text.ts";

test.each([
  ["abc", 3, "abc"],
  ["abcd", 3, "abc"],
  ["ab😀", 4, "ab😀"],
  ["ab😀", 3, "ab"],
  ["", 0, ""],
])("cutText(%j, %i) does not split a surrogate pair", (text, maxLength, expected) => {
  expect(cutText(text, maxLength)).toBe(expected);
});

test.each([
  [[], 5],
  [["aa", "bbb"], 5],
  [["aa"], 4],
  [[], 1],
])("takeWithin gives %j of a maximum of %i", (expected, max) => {
  const items = expected.length === 0 && max === 5 ? [] : ["aa", "bbb", "c"];
  expect(takeWithin(items, max, (text) => text.length)).toEqual(expected);
});
