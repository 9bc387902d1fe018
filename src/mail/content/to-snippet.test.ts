import { expect, test } from "vitest";
import { toSnippet } from "./to-snippet.ts";

test("is one line", () => {
  expect(toSnippet("Hello,\n\nhow are   you?\n")).toBe("Hello, how are you?");
});

test("leaves what is quoted out, where there is more", () => {
  expect(toSnippet("On Monday, Ann wrote:\n> Are you there?\n>> Yes?\n\nI am.")).toBe("I am.");
  expect(toSnippet("Gut.\n\nAm 20.11. schrieb Ann:\n\n> Wie?\n> So?\nBis dann")).toBe("Gut. Bis dann");
  expect(toSnippet("What I need:\n- tea\n- milk")).toBe("What I need: - tea - milk");
  expect(toSnippet("> Are you there?")).toBe("> Are you there?");
});

test("is not cut within what a reader takes for one character", () => {
  const family = "👩‍👩‍👧‍👦";
  expect(toSnippet(`${"x".repeat(198)}${family}`)).toBe("x".repeat(198));
  expect(toSnippet(`${"x".repeat(198)}${family}`.slice(0, 200))).toHaveLength(200);
  expect(toSnippet("x".repeat(201))).toHaveLength(200);
});
