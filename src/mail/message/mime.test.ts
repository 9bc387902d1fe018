import iconv from "iconv-lite";
import { expect, test } from "vitest";
import { encodeText } from "../../../test/support/mails/encode.ts";
import { decodeBytes, decodeUtf7, guessCharset, isUtf7, repairText } from "./mime.ts";

test.each(["plain", "Die Frösche", "1 + 1 = 2", "日本語 and more", "🚀"])("%s", (text) => {
  expect(decodeUtf7(iconv.encode(text, "utf-7").toString())).toBe(text);
});

test.each([
  ["a run that ends without a hyphen", "Fr+APY", "Frö"],
  ["half of a character", "+AP", ""],
  ["a plus alone", "a + b", "a + b"],
])("%s", (_, bytes, text) => {
  expect(decodeUtf7(bytes)).toBe(text);
});

test("it is known by its names", () => {
  expect(["=?utf-7?Q?a?=", "charset=UTF-7", 'charset="unicode-1-1-utf-7"'].map(isUtf7)).toEqual([true, true, true]);
  expect(["=?utf-8?Q?utf-7?=", "charset=utf-77", "utf-7"].map(isUtf7)).toEqual([false, false, false]);
});

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

const misread = (text: string): string => new TextDecoder("windows-1252").decode(Buffer.from(text));

test.each(["Jörg", "“quoted” – 12 €", "Привет", "日本", "🚀"])("%s, read as Latin-1, is read again", (text) => {
  expect(repairText(misread(text))).toBe(text);
});

test.each(["plain", "Jörg", "Ângela à la carte", "Ünal Öz", "日本 Ã¶", "50 Ã", "JOSÉ", "déjà Ã", "ÀÉ É"])(
  "%s stays as it is",
  (text) => {
    expect(repairText(text)).toBe(text);
  },
);
