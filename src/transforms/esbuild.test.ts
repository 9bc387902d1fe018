import { expect, test } from "vitest";
import { showLine } from "./esbuild.ts";

test("the caret is under the column", () => {
  expect(showLine("a.b.c", 12, 3)).toBe("  12 | a.b.c\n     |   ^");
});

test("tabs do not move the caret", () => {
  expect(showLine("\t\ta", 1, 3)).toBe("  1 |   a\n    |   ^");
});

test("of a very long line the part around the column is shown", () => {
  const [line, caret] = showLine(`${"-".repeat(1000)}X${"-".repeat(1000)}`, 1, 1001).split("\n");
  expect(line!.length).toBeLessThan(200);
  expect(line![caret!.indexOf("^")]).toBe("X");
});
