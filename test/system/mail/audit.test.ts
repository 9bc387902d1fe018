import { expect, test } from "vitest";
import { audit } from "./audit.ts";

test.each([
  ["no difference if each arrives once, in any order", ["b", "c", "a"], {}],
  ["a missing mail", ["a", "c"], { lost: 1 }],
  ["duplicates", ["a", "b", "b", "c", "b"], { double: 2 }],
])("the audit finds %s", (_, arrived, expected) => {
  expect(audit(["a", "b", "c"], arrived)).toEqual({ sent: 3, lost: 0, double: 0, ...expected });
});
