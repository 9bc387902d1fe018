import { expect, test } from "vitest";
import { toVisible } from "./visible.ts";

test.each([
  ["a zero-width space", "ap\u200Bprove", "ap\\u{200b}prove"],
  ["a bidi override", "\u202Egnp.exe", "\\u{202e}gnp.exe"],
  ["a control", "a\u0007\u001B[2Jb\r", "a\\u{7}\\u{1b}[2Jb\\u{d}"],
  ["a tag character", "a\u{E0041}", "a\\u{e0041}"],
  ["a variation selector", "a\uFE0F", "a\\u{fe0f}"],
  ["a Hangul filler", "\u3164", "\\u{3164}"],
  ["a no-break space", "a\u00A0b", "a\\u{a0}b"],
  ["a lone surrogate", "a\uD800", "a\\u{d800}"],
  ["a mark over ASCII", "a\u0338\u0301b", "a\\u{338}\\u{301}b"],
  ["a Cyrillic letter", "p\u0430ypal", "p\\u{430}ypal"],
  ["a Greek capital", "\u0391PI", "\\u{391}PI"],
  ["full width", "ｒｍ", "\\u{ff52}\\u{ff4d}"],
  ["a mathematical letter", "𝐫m", "\\u{1d42b}m"],
  ["a dot that is none", "example․com", "example\\u{2024}com"],
  ["a quotation mark", "it’s", "it\\u{2019}s"],
  ["an Arabic letter in an id", "INV-\u0627, user:\u05e1x", "INV-\\u{627}, user:\\u{5e1}x"],
  ["what changes the direction, beside letters", "\u05d5\u202e\u0627\u200f", "\u05d5\\u{202e}\u0627\\u{200f}"],
  ["an Arabic digit in a text", "\u0627 \u0665", "\u0627 \\u{665}"],
  ["a digit of another script", "1٢२", "1\\u{662}\\u{968}"],
])("%s is written as its number", (_, text, visible) => expect(toVisible(text)).toBe(visible));

test.each([
  "plain\n\ttext",
  "Grüße, ça va? Dziękuję",
  "日本語のテキスト",
  "नमस्ते",
  "مرحبا، كيف حالك؟",
  '{"name":"שלום עולם"}',
  "🚀 done",
  "",
])("%j stays", (text) => expect(toVisible(text)).toBe(text));

test("a long text takes linear time", () => {
  const text = `a${"\u0301".repeat(300_000)}`;
  expect(toVisible(text).length).toBe(1 + 7 * 300_000);
});
