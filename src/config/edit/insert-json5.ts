import { commaAfter, type Container, itemsOf, type Json5Text, rangeOf } from "./json5-place.ts";
import { indentOf, insertion, lineBefore, type Splice } from "./splice.ts";
import type { Indent } from "./to-json5.ts";

/** The text of the item, for a line of that indentation. */
type Render = (indent: Indent) => string;

/** Puts an item behind the last one, as that one stands: on a line of its own, or beside the others. */
export function insertJson5(edit: Json5Text, node: Container, render: Render): Splice[] {
  const last = itemsOf(node).at(-1);
  if (last === undefined) return [fill(edit, node, render)];
  const { from, to } = rangeOf(last);
  const isOnOwnLine = lineBefore(edit.text, from).trim() === "";
  const comma = commaAfter(edit, last)?.to;
  if (!isOnOwnLine) return [insertBeside(to, comma, render(undefined))];
  const indent = indentOf(edit.text, from);
  return insertLine(edit, { end: to, comma }, `\n${indent}${render(indent)}`);
}

function insertBeside(end: number, comma: number | undefined, item: string): Splice {
  return comma === undefined ? insertion(end, `, ${item}`) : insertion(comma, ` ${item},`);
}

function insertLine(
  edit: Json5Text,
  { end, comma }: { end: number; comma: number | undefined },
  line: string,
): Splice[] {
  const at = afterComments(edit, comma ?? end);
  if (comma !== undefined) return [insertion(at, `${line},`)];
  return at === end ? [insertion(end, `,${line}`)] : [insertion(end, ","), insertion(at, line)];
}

/** Behind the comments on the rest of the line, which are about what stands before them. */
function afterComments(edit: Json5Text, offset: number): number {
  const next = edit.tokens.find(({ loc }) => loc.start.offset >= offset);
  if (!next?.type.endsWith("Comment")) return offset;
  const { from, to } = rangeOf(next);
  return edit.text.slice(offset, from).includes("\n") ? offset : afterComments(edit, to);
}

/** Puts the first item in. */
function fill(edit: Json5Text, node: Container, render: Render): Splice {
  const from = rangeOf(node).from + 1;
  const to = rangeOf(node).to - 1;
  if (edit.text.slice(from, to).trim() !== "") return fillAfterComments(edit, to, render);
  if (node.type === "Array") return { from, to, text: render(undefined) };
  const outer = indentOf(edit.text, from);
  return { from, to, text: `\n${toLine(edit, outer, render)}${outer}` };
}

function fillAfterComments(edit: Json5Text, end: number, render: Render): Splice {
  const before = lineBefore(edit.text, end);
  if (before.trim() !== "") return insertion(end, `${render(undefined)} `);
  return insertion(end - before.length, toLine(edit, before, render));
}

function toLine({ style }: Json5Text, outer: string, render: Render): string {
  const indent = outer + style.unit;
  return `${indent}${render(indent)}${style.trailingComma ? "," : ""}\n`;
}
