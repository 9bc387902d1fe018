import { expect, test } from "vitest";
import * as fc from "../../../../test/support/property.ts";
import { toChangedWords } from "./text-diff.ts";

test("the words that differ are marked, and nothing else", () => {
  expect(toChangedWords("Alert DiskFull is high", "Alert DiskFull was very high")).toEqual([
    { kind: "same", text: "Alert DiskFull " },
    { kind: "removed", text: "is" },
    { kind: "added", text: "was" },
    { kind: "same", text: " " },
    { kind: "added", text: "very " },
    { kind: "same", text: "high" },
  ]);
  expect(toChangedWords("same", "same")).toEqual([{ kind: "same", text: "same" }]);
  expect(toChangedWords("", "new")).toEqual([{ kind: "added", text: "new" }]);
});

test("the parts give both texts", () => {
  const texts = fc
    .array(fc.constantFrom("a", "b", " ", "\n", "c d", "é"), { maxLength: 40 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const parts = toChangedWords(before, after);
      const without = (kind: string): string => parts.flatMap((part) => (part.kind === kind ? [] : part.text)).join("");
      expect([without("added"), without("removed")]).toEqual([before, after]);
    }),
  );
});
