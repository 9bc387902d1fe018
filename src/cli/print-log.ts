import { styleText } from "node:util";
import type { LogLine } from "../types.ts";
import { toPrintable } from "../telemetry/to-printable.ts";

const COLOURS = { debug: "dim", log: "dim", info: "cyan", warn: "yellow", error: "red" } as const;

/** What a transform wrote to its console, a line each; texts of several lines stand under one another. */
export function printLog(log: LogLine[]): string[] {
  return log.flatMap(({ level, text }) => {
    const label = `${level}: `;
    const [first = "", ...rest] = toPrintable(text).split("\n");
    return [styleText(COLOURS[level], label) + first, ...rest.map((line) => " ".repeat(label.length) + line)];
  });
}
