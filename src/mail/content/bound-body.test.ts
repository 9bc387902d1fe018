import { expect, test } from "vitest";
import { boundBody } from "./bound-body.ts";

const countLines = (bytes: Buffer): number => bytes.toString("latin1").split("\n").length;

test("a mail of usual length is left as it is", () => {
  const body = Buffer.from("a line\r\n".repeat(20_000));
  expect(boundBody(body)).toEqual(body);
});

test("a long attachment comes to the same bytes in fewer lines", () => {
  const content = Buffer.alloc(5_000_000, "content");
  const lines = content.toString("base64").replaceAll(/.{76}/g, "$&\r\n");
  const bounded = boundBody(Buffer.from(`--b\r\n\r\n${lines}\r\n--b--\r\n`));
  expect(countLines(bounded)).toBeLessThan(20_100);
  const [, kept = "", end] = bounded.toString().split(/--b(?:--)?\r\n/);
  expect(end).toBe("");
  expect(Buffer.from(kept, "base64").equals(content)).toBe(true);
});

test("parts behind a long one keep their headers", () => {
  const bounded = boundBody(Buffer.from(`${"a\n".repeat(100_000)}--b\nA: b\nC: d\n\ntext\n--b--\n`));
  expect(bounded.toString()).toMatch(/a\n--b\nA: b\nC: d\n\ntext\n--b--\n$/);
});

test.each(["\n", "a\n", "--\n", "--b\n\n", "--b\n\n\n\n"])(
  "%j over and over stays below so many lines",
  (line) => {
    expect(countLines(boundBody(Buffer.from(line.repeat(200_000))))).toBeLessThan(60_000);
  },
);
