import { expect, test } from "vitest";
import { didYouMean } from "./problems.ts";

test.each([
  ["tokne", ["path", "token"], '; did you mean "token"?'],
  ["SLACK", ["last", "slack"], '; did you mean "slack"?'],
  ["transforms", ["mappings", "transformsDir"], '; did you mean "transformsDir"?'],
  ["entirely-else", ["host", "port"], "; known here: host, port"],
  ["anything", [], ""],
])("%s among %j", (name, known, end) => {
  expect(didYouMean(name, known)).toBe(end);
});
