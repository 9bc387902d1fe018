import { expect, test } from "vitest";
import { toBrief } from "./brief.ts";

const quote = (count: number): string => Array.from({ length: count }, (_, index) => `> line ${index}`).join("\n");

test.each([
  ["a short quote", `Yes.\n\nAnn wrote:\n${quote(6)}`, `Yes.\n\nAnn wrote:\n${quote(6)}`],
  ["a long quote", `Yes.\n${quote(9)}\nBye.`, "Yes.\n> line 0\n> line 1\n> [… 7 more quoted lines]\nBye."],
  ["two quotes", `${quote(7)}\na\n${quote(3)}`, `> line 0\n> line 1\n> [… 5 more quoted lines]\na\n${quote(3)}`],
  [
    "a repeated mail",
    "Yes.\n\n-----Original Message-----\nFrom: Bob\n\nWell?",
    "Yes.\n\n[… 4 lines of the mail that this one answers]",
  ],
  ["a repeated mail alone", "-----Original Message-----\nWell?", "-----Original Message-----\nWell?"],
  [
    "a forwarded mail",
    "Look.\n---------- Forwarded message ---------\nHi",
    "Look.\n---------- Forwarded message ---------\nHi",
  ],
  ["a short address", "see [https://a.example/b?c=d].", "see [https://a.example/b?c=d]."],
  ["a long address", `see [https://a.example/${"x".repeat(300)}].`, `see [https://a.example/${"x".repeat(62)}…].`],
  ["nothing", "", ""],
])("%s", (_, text, brief) => {
  expect(toBrief(text)).toBe(brief);
});
