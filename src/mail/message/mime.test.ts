import { expect, test } from "vitest";
import { encodeText } from "../../../test/support/mails/encode.ts";
import { decodeBytes, guessCharset, repairText } from "./mime.ts";

test.each([
  ["Grüße", "utf-8", "koi8-r"],
  ["Grüße", "iso-8859-1", "windows-1252"],
  ["Привет, Иван", "koi8-r", "koi8-r"],
  ["第三季度报告", "gb18030", "gb18030"],
  ["請求書", "shift_jis", "shift_jis"],
  ["請求書 2026", "iso-2022-jp", "windows-1252"],
])("%s in %s is decoded if %s is guessed", (text, charset, guess) => {
  expect(decodeBytes(encodeText(text, charset), guess)).toBe(text);
});

test.each([
  ['Content-Type: text/plain; charset="KOI8-R"', "koi8-r"],
  ["Content-Type: text/plain; charset=utf-8\nSubject: =?gb2312?B?xOO6ww==?=", "gbk"],
  ["Content-Type: text/plain; charset=x-nobody-knows", "windows-1252"],
  ["Content-Type: text/plain; charset=iso-2022-jp", "windows-1252"],
  ["", "windows-1252"],
])("guessCharset(%j)", (source, charset) => {
  expect(guessCharset(Buffer.from(source))).toBe(charset);
});

const misread = (text: string): string => new TextDecoder("windows-1252").decode(Buffer.from(text));

test.each(["Jörg", "“quoted” – 12 €", "Привет", "日本", "🚀"])("%s, misread as Latin-1, is repaired", (text) => {
  expect(repairText(misread(text))).toBe(text);
});

test.each(["plain", "Jörg", "Ângela à la carte", "Ünal Öz", "日本 Ã¶", "50 Ã", "JOSÉ", "déjà Ã", "ÀÉ É"])(
  "%s is not changed",
  (text) => {
    expect(repairText(text)).toBe(text);
  },
);
