import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { formatActions, formatTable } from "./format.ts";

test("columns are aligned, long cells cut, control characters shown as what they are", () => {
  const rows = [
    ["a", 1, undefined],
    ["longer", 22, "two\nlines \u001b[2J"],
    ["x", 3, "y".repeat(100)],
  ];
  expect(formatTable(["name", "n", "text"], rows).map((line) => stripVTControlCharacters(line))).toEqual([
    "name    n   text",
    "a       1",
    "longer  22  two lines \\u001b[2J",
    `x       3   ${"y".repeat(71)}…`,
  ]);
});

test("a column without a value is left out", () => {
  const rows = [
    ["one", undefined, "x"],
    ["two", undefined, undefined],
  ];
  const lines = formatTable(["id", "state", "hook"], rows);
  expect(lines.map((line) => stripVTControlCharacters(line))).toEqual(["id   hook", "one  x", "two"]);
});

test("a field a line, a text of several lines below its name", () => {
  const action = {
    kind: "agent",
    message: "one\n\ntwo",
    deliver: false,
    to: undefined,
    channel: "slack",
  };
  expect(formatActions([action])).toEqual([
    "agent",
    "  message:",
    "    one",
    "",
    "    two",
    "  deliver: false",
    "  channel: slack",
  ]);
});

test("no action is said in words", () => {
  expect(formatActions([])).toEqual(["skipped: no action"]);
});
