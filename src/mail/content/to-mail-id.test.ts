import { expect, test } from "vitest";
import { toMailId } from "./to-mail-id.ts";

test.each([
  ["<a.1@example.com>", "a.1@example.com"],
  ["  <a.1@example.com> (comment)", "a.1@example.com"],
  ["<first@example.com> <second@example.com>", "first@example.com"],
  ["no-brackets@example.com", "no-brackets@example.com"],
  ["<with space@example.com>", "with space@example.com"],
  ["<a\u0000b\u0007@example.com>", "ab@example.com"],
  ["<>", undefined],
  ["", undefined],
  [undefined, undefined],
])("%j is %j", (header, id) => {
  expect(toMailId(header)).toBe(id);
});

test("it is bounded, and well formed where it is cut", () => {
  expect(toMailId(`<${"x".repeat(511)}🚀@example.com>`)).toBe("x".repeat(511));
});
