import iconv from "iconv-lite";
import { expect, test } from "vitest";
import { decodeUtf7, isUtf7 } from "./decode-utf7.ts";

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
  expect(["=?utf-7?Q?a?=", "charset=UTF-7", 'charset="unicode-1-1-utf-7"'].map(isUtf7)).toEqual([
    true,
    true,
    true,
  ]);
  expect(["=?utf-8?Q?utf-7?=", "charset=utf-77", "utf-7"].map(isUtf7)).toEqual([false, false, false]);
});
