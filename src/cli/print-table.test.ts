import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { printTable } from "./print-table.ts";

test("columns are aligned, long cells cut, control characters shown as what they are", () => {
  const rows = [
    ["a", 1, undefined],
    ["longer", 22, "two\nlines \u001b[2J"],
    ["x", 3, "y".repeat(100)],
  ];
  expect(printTable(["name", "n", "text"], rows).map((line) => stripVTControlCharacters(line))).toEqual([
    "name    n   text",
    "a       1",
    "longer  22  two lines \\u001b[2J",
    `x       3   ${"y".repeat(71)}…`,
  ]);
});
