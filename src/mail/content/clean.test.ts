import { expect, test } from "vitest";
import { cleanLine, cleanText, cutBytes } from "./clean.ts";

test("a text keeps tabs and line feeds alone of the control characters", () => {
  expect(cleanText("a\r\nb\rc\u0085d\u2028e\tf\0\u0007\u001b\u007f\u009bg")).toBe("a\nb\nc\nd\ne\tfg");
});

test("half of a character does not survive", () => {
  expect(cleanText("a\ud83d b\udc00")).toBe("a\ufffd b\ufffd");
});

test("a line is one line", () => {
  expect(cleanLine("  a\r\n\t b\u00a0\u2029c  ")).toBe("a b c");
});

test("a long line is not cut within a character", () => {
  expect(cleanLine("a🚀b", 2)).toBe("a");
  expect(cleanLine("a🚀b", 3)).toBe("a🚀");
  expect(cleanLine("x".repeat(2000))).toHaveLength(998);
});

test.each([
  ["abc", 3, "abc"],
  ["abc", 2, "ab"],
  ["aé", 2, "a"],
  ["aé", 3, "aé"],
  ["a🚀", 4, "a"],
  ["🚀", 3, ""],
  ["語語", 5, "語"],
  ["", 0, ""],
])("%j in %i bytes is %j", (text, bytes, expected) => {
  expect(cutBytes(text, bytes)).toBe(expected);
});
