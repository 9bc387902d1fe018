import { styleText } from "node:util";
import { diffLinesUnified } from "jest-diff";

/** What two texts are called. */
interface DiffNames {
  expected: string;
  given: string;
}

/** What was expected and what came instead, line by line; colours where the terminal has them. */
export function printDiff(
  expected: string[],
  given: string[],
  names: DiffNames = { expected: "expected", given: "given" },
): string[] {
  return diffLinesUnified(expected, given, {
    aAnnotation: names.expected,
    aColor: (text) => styleText("red", text),
    bAnnotation: names.given,
    bColor: (text) => styleText("green", text),
    commonColor: (text) => styleText("dim", text),
    patchColor: (text) => styleText("yellow", text),
    contextLines: 3,
    expand: false,
  }).split("\n");
}
