import { expect, test } from "vitest";
import { toMail } from "../../../test/support/mailbox.ts";
import { shorten } from "./shorten.ts";

test("a quarter of the text, at last none of it, and the mail says so", () => {
  const lengths = [];
  for (let mail = shorten({ ...toMail("1"), body: "x".repeat(20_000) }); mail; mail = shorten(mail)) {
    expect(mail).toMatchObject({ id: "1", truncated: true });
    lengths.push(mail.body.length);
  }
  expect(lengths).toEqual([5000, 1250, 312, 78, 0]);
});

test("no character is cut in two", () => {
  const shorter = shorten({ ...toMail("1"), body: "😀".repeat(502) });
  expect(shorter?.body.isWellFormed()).toBe(true);
  expect(shorter?.body).toHaveLength(250);
});
