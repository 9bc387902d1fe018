import { expect, test } from "vitest";
import { toPrintable } from "./to-printable.ts";

test("an escape sequence cannot reach the terminal", () => {
  expect(toPrintable("a\u001b[2Jb\u009bc\rd\u202ee")).toBe("a\\u001b[2Jb\\u009bc\\u000dd\\u202ee");
});

test("other text is left as it is", () => {
  expect(toPrintable("Zeile 1\n\tline 2, ☃")).toBe("Zeile 1\n\tline 2, ☃");
});
