import { styleText } from "node:util";
import { toPrintable } from "../telemetry/to-printable.ts";

/** Wider cells are cut: a table stays a table. */
const WIDEST = 72;

/** Rows as aligned columns under their names; what is undefined is an empty cell. */
export function printTable(names: string[], rows: (string | number | undefined)[][]): string[] {
  const cells = rows.map((row) => row.map(toCell));
  const widths = names.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const align = (row: string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [styleText("dim", align(names)), ...cells.map(align)];
}

function toCell(value: string | number | undefined): string {
  const line = toPrintable(String(value ?? "")).replaceAll(/\s+/g, " ");
  return line.length > WIDEST ? `${line.slice(0, WIDEST - 1)}…` : line;
}
