import { styleText } from "node:util";
import { toPrintable } from "../telemetry/log.ts";

/** Wider cells are cut: a table stays a table. */
const WIDEST = 72;

const GAP = "  ";

/**
 * Rows as aligned columns under their names; what is undefined is an empty cell, and a column of nothing else is left out.
 * Columns beyond `width`, by default the terminal's, stand in a second line under each row.
 */
export function printTable(
  names: string[],
  rows: (string | number | undefined)[][],
  width: number = process.stdout.columns ?? Infinity,
): string[] {
  const isFilled = (_: unknown, column: number): boolean => rows.some((row) => row[column] !== undefined);
  const head = names.filter(isFilled);
  const cells = rows.map((row) => row.filter(isFilled).map(toCell));
  const widths = head.map((name, column) => Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const count = countFitting(widths, width);

  function toLines(row: string[]): string[] {
    const aligned = row.slice(0, count).map((cell, column) => cell.padEnd(widths[column] ?? 0));
    const beyond = row.slice(count).filter((cell) => cell !== "");
    const first = aligned.join(GAP).trimEnd();
    return beyond.length === 0 ? [first] : [first, GAP + beyond.join(GAP)];
  }

  return [...toLines(head).map((line) => styleText("dim", line)), ...cells.flatMap(toLines)];
}

/** How many columns have room side by side: the first one always. */
function countFitting(widths: number[], room: number): number {
  let used = 0;
  const beyond = widths.findIndex((width, column) => {
    used += width + (column > 0 ? GAP.length : 0);
    return column > 0 && used > room;
  });
  return beyond === -1 ? widths.length : beyond;
}

function toCell(value: string | number | undefined): string {
  const line = toPrintable(String(value ?? "")).replaceAll(/\s+/g, " ");
  return line.length > WIDEST ? `${line.slice(0, WIDEST - 1)}…` : line;
}

/** `1 try`, `3 tries`. */
export function printTries(attempts: number): string {
  return attempts === 1 ? "1 try" : `${attempts} tries`;
}
