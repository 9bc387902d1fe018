import { expect, test } from "vitest";
import { audit } from "./audit.ts";

test.each([
  ["nothing where each came once, in any order", ["b", "c", "a"], {}],
  ["what never came", ["a", "c"], { lost: 1 }],
  ["what came twice", ["a", "b", "b", "c", "b"], { double: 2 }],
])("the audit finds %s", (_, arrived, expected) => {
  expect(audit(["a", "b", "c"], arrived)).toEqual({ sent: 3, lost: 0, double: 0, ...expected });
});
