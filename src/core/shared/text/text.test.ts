import { expect, test } from "vitest";
import { cutText, didYouMean, takeWithin, tidyText } from "./text.ts";

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

test.each([
  ["without a limit nothing changes", " a \n\n\n\nb", undefined, " a \n\n\n\nb"],
  ["empty lines become one, line ends plain", "a  \r\n\r\n\t\r\n\r\nb\n", 100, "a\n\nb"],
  [
    "a long text ends at a line",
    `${"x".repeat(70)}\n${"y".repeat(60)}`,
    100,
    `${"x".repeat(70)}\n\n(The text was cut here.)`,
  ],
  ["or at a word", `${"x".repeat(70)} ${"y".repeat(60)}`, 100, `${"x".repeat(70)}\n\n(The text was cut here.)`],
  ["or anywhere", "x".repeat(200), 100, `${"x".repeat(74)}\n\n(The text was cut here.)`],
])("tidyText: %s", (_, text, maxLength, expected) => {
  expect(tidyText(text, maxLength)).toBe(expected);
});

test("tidyText takes linear time for a text of spaces", () => {
  const text = `x${" ".repeat(2_000_000)}x`;
  expect(tidyText(text, 100)).toHaveLength(27);
});

test.each([
  ["tokne", ["path", "token"], '; did you mean "token"?'],
  ["SLACK", ["last", "slack"], '; did you mean "slack"?'],
  ["transforms", ["mappings", "transformsDir"], '; did you mean "transformsDir"?'],
  ["gmial", ["gitlab", "mail"], '; did you mean "mail"?'],
  ["x".repeat(100_000), ["host", "port"], "; known here: host, port."],
  ["entirely-else", ["host", "port"], "; known here: host, port."],
  ["anything", [], "."],
])("%.20s among %j", (name, known, end) => {
  expect(didYouMean(name, known)).toBe(end);
});
