import { expect, test } from "vitest";
import { joinMessages } from "./run.ts";

test("a message that nothing joined is unchanged", () => {
  expect(joinMessages("one", undefined)).toBe("one");
});

test("all messages are included, numbered and in order", () => {
  expect(joinMessages("one", { messages: ["two", "three"], leftOut: 0 })).toBe(
    "3 related messages, in order of arrival:\n\n[1 of 3]\none\n\n[2 of 3]\ntwo\n\n[3 of 3]\nthree",
  );
});

test("messages that the journal did not store are mentioned", () => {
  const text = joinMessages("one", { messages: ["two"], leftOut: 7 });
  expect(text).toContain("[2 of 9]\ntwo");
  expect(text).toMatch(/\n\n\[The last 7 messages are omitted .*\]$/);
});

test("messages over the limit are omitted from the end, never the first", () => {
  const long = "x".repeat(150_000);
  const text = joinMessages(long, { messages: ["short", long, "fourth"], leftOut: 0 });
  expect(text).toContain("[2 of 4]\nshort");
  expect(text).not.toContain("fourth");
  expect(text).toContain("[The last 2 messages are omitted");
  expect(joinMessages(long + long, { messages: ["b"], leftOut: 0 })).toContain(`[1 of 2]\n${long}${long}\n`);
});
