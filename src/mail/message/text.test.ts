import { describe, expect, test } from "vitest";
import { cleanLine, cleanText, shortenText, toSnippet } from "./text.ts";

test("of all control characters a text keeps tabs and line feeds", () => {
  expect(cleanText("a\r\nb\rc\u0085d\u2028e\tf\0\u0007\u001b\u007f\u009bg")).toBe("a\nb\nc\nd\ne\tfg");
});

test("half a character is replaced", () => {
  expect(cleanText("a\ud83d b\udc00")).toBe("a\ufffd b\ufffd");
});

test("a line is one line", () => {
  expect(cleanLine("  a\r\n\t b\u00a0\u2029c  ")).toBe("a b c");
});

test("a long line is never cut within a character", () => {
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
  expect(shortenText(text, bytes)).toBe(expected);
});

describe("a text that is too long", () => {
  const quotes = "> 20 characters each\n".repeat(1000);

  test("loses its long quotes, and keeps the answer below them", () => {
    const text = shortenText(`Ann wrote:\n${quotes}Yes, the blue one.`, 2000);
    expect(text).toMatch(/^Ann wrote:\n> 20 [^]*more quoted lines\]\nYes, the blue one\.$/);
  });

  test.each(["x", "ä", "\u{1f680}"])("else loses its middle, never within a character: %s", (character) => {
    const text = shortenText(`Begin ${character.repeat(5000)} end`, 1001);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1001);
    expect(text).toMatch(/^Begin [^]*\n\n\[the middle of the text is left out\]\n\n[^]* end$/);
    expect([text.isWellFormed(), text.includes("\ufffd")]).toEqual([true, false]);
  });
});

test("a snippet is one line", () => {
  expect(toSnippet("Hello,\n\nhow are   you?\n")).toBe("Hello, how are you?");
});

test("a snippet has no quotes if there is other text", () => {
  expect(toSnippet("On Monday, Ann wrote:\n> Are you there?\n>> Yes?\n\nI am.")).toBe("I am.");
  expect(toSnippet("Gut.\n\nAm 20.11. schrieb Ann:\n\n> Wie?\n> So?\nBis dann")).toBe("Gut. Bis dann");
  expect(toSnippet("What I need:\n- tea\n- milk")).toBe("What I need: - tea - milk");
  expect(toSnippet("> Are you there?")).toBe("> Are you there?");
});

test("a snippet never cuts what a reader sees as one character", () => {
  const family = "👩‍👩‍👧‍👦";
  expect(toSnippet(`${"x".repeat(198)}${family}`)).toBe("x".repeat(198));
  expect(toSnippet(`${"x".repeat(198)}${family}`.slice(0, 200))).toHaveLength(200);
  expect(toSnippet("x".repeat(201))).toHaveLength(200);
});
