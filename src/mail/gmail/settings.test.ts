import { expect, test } from "vitest";
import { sameAddress } from "./settings.ts";

test.each([
  ["ann@example.com", "Ann@Example.com", true],
  ["ann.lee@gmail.com", "annlee@googlemail.com", true],
  ["ann.lee@example.com", "annlee@example.com", false],
  ["ann@example.com", "bob@example.com", false],
  ["ann@gmail.com", "ann@example.com", false],
  ["", "ann@example.com", false],
])("%s and %s: %s", (one, other, same) => {
  expect(sameAddress(one, other)).toBe(same);
});
