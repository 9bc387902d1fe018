import { expect, test } from "vitest";
import { tidyText } from "./tidy.ts";

test.each([
  ["without a limit nothing changes", " a \n\n\n\nb", undefined, " a \n\n\n\nb"],
  ["empty lines become one, line ends plain", "a  \r\n\r\n\t\r\n\r\nb\n", 100, "a\n\nb"],
  [
    "a long text ends at a line",
    `${"x".repeat(70)}\n${"y".repeat(60)}`,
    100,
    `${"x".repeat(70)}\n\n(The text was cut here.)`,
  ],
  ["or at a word", `${"x".repeat(70)} ${"y".repeat(60)}`, 100, `${"x".repeat(70)}\n\n(The text was cut here.)`],
  ["or anywhere", "x".repeat(200), 100, `${"x".repeat(74)}\n\n(The text was cut here.)`],
])("%s", (_, text, maxLength, expected) => {
  expect(tidyText(text, maxLength)).toBe(expected);
});

test("takes linear time for a text of spaces", () => {
  const text = `x${" ".repeat(2_000_000)}x`;
  expect(tidyText(text, 100)).toHaveLength(27);
});
