import { createTwoFilesPatch } from "diff";
import { expect, test } from "vitest";
import * as fc from "../../../../test/support/property.ts";
import { numberLines, parseHunks } from "./diff.ts";

const PATCH = `@@ -1,3 +1,4 @@ function add() {
 one
-two
+2
+2.5
 three
\\ No newline at end of file
@@ -10,2 +11,1 @@
 ten
-eleven
`;

test("each line has its numbers in both files", () => {
  expect(parseHunks(PATCH)).toEqual([
    { kind: "same", old: 1, new: 1, hunk: 1 },
    { kind: "removed", old: 2, new: 2, hunk: 1 },
    { kind: "added", old: 3, new: 2, hunk: 1 },
    { kind: "added", old: 3, new: 3, hunk: 1 },
    { kind: "same", old: 3, new: 4, hunk: 1 },
    { kind: "same", old: 10, new: 11, hunk: 2 },
    { kind: "removed", old: 11, new: 12, hunk: 2 },
  ]);
});

test("a patch without hunks has no lines", () => {
  expect(parseHunks("")).toEqual([]);
  expect(parseHunks("--- a/x\n+++ b/x\n")).toEqual([]);
});

const file = fc.array(fc.constantFrom("a", "b", "c", "@@ -1 +1 @@", "--", "++", ""), { maxLength: 30 });

test("the numbers find the lines of any two files", () => {
  fc.assert(
    fc.property(file, file, (before, after) => {
      const toText = (lines: string[]): string => lines.map((line) => `${line}\n`).join("");
      const patch = createTwoFilesPatch("a", "b", toText(before), toText(after), "", "", { context: 2 });
      const written = patch.split("\n").filter((line, at) => at > 3 && /^[ +-]/.test(line));
      const lines = parseHunks(patch);
      expect(lines).toHaveLength(written.length);
      for (const [index, { kind, old, new: now }] of lines.entries()) {
        const text = written[index]?.slice(1);
        if (kind !== "added") expect(before[old - 1]).toBe(text);
        if (kind !== "removed") expect(after[now - 1]).toBe(text);
      }
    }),
  );
});

test("the numbers before the lines are those of the new file, of removed lines those of the old one", () => {
  const diff = `--- a/x\n+++ b/x\n${PATCH}--- a/y\n+++ b/y\n@@ -1 +1 @@\n--- is a removed line\n+++ is an added line\n--- a/z\n`;
  expect(numberLines(diff)).toBe(`--- a/x
+++ b/x
@@ -1,3 +1,4 @@ function add() {
    1  one
    2 -two
    2 +2
    3 +2.5
    4  three
\\ No newline at end of file
@@ -10,2 +11,1 @@
   11  ten
   11 -eleven
--- a/y
+++ b/y
@@ -1 +1 @@
    1 --- is a removed line
    1 +++ is an added line
--- a/z
`);
});
