import { styleText } from "node:util";
import { diffLinesUnified } from "jest-diff";

/** What was expected and what came instead, line by line; colours where the terminal has them. */
export function printDiff(expected: string[], given: string[]): string[] {
  return diffLinesUnified(expected, given, {
    aAnnotation: "expected",
    aColor: (text) => styleText("red", text),
    bAnnotation: "given",
    bColor: (text) => styleText("green", text),
    commonColor: (text) => styleText("dim", text),
    patchColor: (text) => styleText("yellow", text),
    contextLines: 3,
    expand: false,
  }).split("\n");
}
