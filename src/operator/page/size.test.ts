import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

/** The size that it had when it was seven lists: it does more now, and has grown no larger. */
const MAX_LINES = 6984;

test.each([
  ["code and style sheets", "**/*.{ts,tsx,css}"],
  ["the document, too", "**/*.{ts,tsx,css,html}"],
])("the page has few lines: %s", (_, pattern) => {
  const exclude = ["node_modules/**", "**/*.test.*"];
  const texts = globSync(pattern, { cwd: import.meta.dirname, exclude }).map((file) =>
    readFileSync(path.join(import.meta.dirname, file), "utf8"),
  );
  const lines = texts.reduce((sum, text) => sum + text.split("\n").length - 1, 0);
  expect(lines).toBeGreaterThan(1000);
  expect(lines).toBeLessThanOrEqual(MAX_LINES);
});
