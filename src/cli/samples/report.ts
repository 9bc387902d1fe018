import { diffLinesUnified } from "jest-diff";
import { styleText } from "node:util";
import { toPrintable } from "../../telemetry/log.ts";
import { printActions, printLog } from "../commands/try.ts";
import type { SampleResult } from "./run.ts";

/** How many samples ended how. */
export interface Tally {
  passed: number;
  updated: number;
  failed: number;
}

/** The lines of one sample on the terminal. */
export function reportSample(name: string, result: SampleResult): string[] {
  const title = `${name} ${styleText("dim", `${result.durationMs.toFixed(1)} ms`)}`;
  if (result.kind === "passed") return [`  ${styleText("green", "✓")} ${title}`];
  if (result.kind === "updated") return [`  ${styleText("yellow", "✎")} ${title}, now expected so`];
  return [`  ${styleText("red", "✗")} ${title}`, ...indent(explain(result)), ...indent(printLog(result.log))];
}

/** The lines of a transform, or a sample, that could not even be run. */
export function reportBroken(name: string, reason: string): string[] {
  return [`  ${styleText("red", "✗")} ${name}`, ...indent(reason.split("\n"))];
}

/** The last line. */
export function reportTally({ passed, updated, failed }: Tally): string {
  const parts = [styleText("green", `${passed} passed`)];
  if (updated > 0) parts.push(styleText("yellow", `${updated} updated`));
  parts.push(failed > 0 ? styleText("red", `${failed} failed`) : "0 failed");
  return parts.join(", ");
}

function explain(result: Extract<SampleResult, { kind: "unexpected" | "failed" }>): string[] {
  if (result.kind === "failed") return toPrintable(result.reason).split("\n");
  const given = printActions(result.given);
  if (result.expected) return printDiff(printActions(result.expected), given);
  return ["Nothing is expected yet; --update writes this down:", ...given.map((line) => `  ${line}`)];
}

function indent(lines: string[]): string[] {
  return lines.map((line) => (line === "" ? "" : `    ${line}`));
}

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
