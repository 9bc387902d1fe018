import { expect, test } from "vitest";
import { repairText } from "./repair-text.ts";

const misread = (text: string): string => new TextDecoder("windows-1252").decode(Buffer.from(text));

test.each(["Jörg", "“quoted” – 12 €", "Привет", "日本", "🚀"])(
  "%s, read as Latin-1, is read again",
  (text) => {
    expect(repairText(misread(text))).toBe(text);
  },
);

test.each(["plain", "Jörg", "Ângela à la carte", "Ünal Öz", "日本 Ã¶", "50 Ã", "JOSÉ", "déjà Ã", "ÀÉ É"])(
  "%s stays as it is",
  (text) => {
    expect(repairText(text)).toBe(text);
  },
);
