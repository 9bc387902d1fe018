import { expect, test } from "vitest";
import { encodeText } from "../../../test/support/mails/encode.ts";
import { decodeBytes, guessCharset } from "./decode-bytes.ts";

test.each([
  ["Grüße", "utf-8", "koi8-r"],
  ["Grüße", "iso-8859-1", "windows-1252"],
  ["Привет, Иван", "koi8-r", "koi8-r"],
  ["第三季度报告", "gb18030", "gb18030"],
  ["請求書", "shift_jis", "shift_jis"],
  ["請求書 2026", "iso-2022-jp", "windows-1252"],
])("%s in %s, where %s is guessed", (text, charset, guess) => {
  expect(decodeBytes(encodeText(text, charset), guess)).toBe(text);
});

test.each([
  ['Content-Type: text/plain; charset="KOI8-R"', "koi8-r"],
  ["Content-Type: text/plain; charset=utf-8\nSubject: =?gb2312?B?xOO6ww==?=", "gbk"],
  ["Content-Type: text/plain; charset=x-nobody-knows", "windows-1252"],
  ["Content-Type: text/plain; charset=iso-2022-jp", "windows-1252"],
  ["", "windows-1252"],
])("what bytes that say nothing are in: %j", (source, charset) => {
  expect(guessCharset(Buffer.from(source))).toBe(charset);
});
