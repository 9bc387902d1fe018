import { expect, test } from "vitest";
import { printActions } from "./print-actions.ts";

test("a field a line, a text of several lines below its name", () => {
  const action = { kind: "agent", message: "one\n\ntwo", deliver: false, to: undefined, channel: "slack" };
  expect(printActions([action])).toEqual([
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
  expect(printActions([])).toEqual(["skipped: no action"]);
});
