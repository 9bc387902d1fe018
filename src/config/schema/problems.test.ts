import { expect, test } from "vitest";
import { didYouMean } from "./problems.ts";

test.each([
  ["tokne", ["path", "token"], '; did you mean "token"?'],
  ["SLACK", ["last", "slack"], '; did you mean "slack"?'],
  ["transforms", ["mappings", "transformsDir"], '; did you mean "transformsDir"?'],
  ["gmial", ["gitlab", "mail"], '; did you mean "mail"?'],
  ["x".repeat(100_000), ["host", "port"], "; known here: host, port"],
  ["entirely-else", ["host", "port"], "; known here: host, port"],
  ["anything", [], ""],
])("%.20s among %j", (name, known, end) => {
  expect(didYouMean(name, known)).toBe(end);
});
