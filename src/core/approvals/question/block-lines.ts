import type { Block, Cell } from "./card.ts";

/** How a place writes where a value stands. */
export type WriteStands = (stands: readonly string[]) => string;

const GAP = "  ";

/**
 * The arguments of a call as lines of equal letters, for a chat and a terminal. Undefined: the block holds none.
 */
export function toArgumentLines(block: Block, writeStands: WriteStands): string[] | undefined {
  switch (block.kind) {
    case "table":
      return [...toHeading(block.name), ...toTable(block, writeStands)];
    case "diff":
      return [...toHeading(block.name), ...block.lines.map(({ kind, text }) => `${MARKS[kind]}${text}`)];
    case "text":
    case "json":
      return [...toHeading(block.name), ...block.text.split("\n")];
    default:
      return undefined;
  }
}

const MARKS = { added: "+", removed: "-", same: " " };

function toHeading(name: string | undefined): string[] {
  return name === undefined ? [] : [`${name}:`];
}

function toTable({ columns, rows }: Extract<Block, { kind: "table" }>, writeStands: WriteStands): string[] {
  const head = columns?.map((text): Cell => ({ text }));
  const lines = [...(head ? [head] : []), ...rows].map((row) => row.flatMap((cell) => toTexts(cell, writeStands)));
  const widths: number[] = [];
  // A long value does not move the others to the right.
  for (const line of lines)
    line.forEach((text, at) => (widths[at] = Math.max(widths[at] ?? 0, Math.min(text.length, MAX_WIDTH))));
  return lines.map((line) =>
    line
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

const MAX_WIDTH = 30;

function toTexts({ text, stands }: Cell, writeStands: WriteStands): string[] {
  return stands ? [text, writeStands(stands)] : [text];
}
