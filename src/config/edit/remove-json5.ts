import { commaAfter, type Json5Place, type Json5Text, rangeOf } from "./json5-place.ts";
import { removal, type Splice } from "./splice.ts";

/** Takes an item out with its comma, or as the last one with the comma before it. */
export function removeJson5(edit: Json5Text, { items, index }: NonNullable<Json5Place["owner"]>): Splice[] {
  const item = items[index];
  const previous = items[index - 1];
  if (item === undefined) return [];
  const { from, to } = rangeOf(item);
  const after = commaAfter(edit, item);
  if (after) return removeWithNext(edit.text, { from, to }, after);
  const before = previous && commaAfter(edit, previous);
  return before ? removeWithPrevious(edit.text, { from, to }, before) : [removal(edit.text, from, to)];
}

interface Range {
  from: number;
  to: number;
}

function removeWithNext(text: string, { from, to }: Range, comma: Range): Splice[] {
  if (text.slice(to, comma.from).trim() !== "") return [removal(text, from, to), { ...comma, text: "" }];
  const cut = removal(text, from, comma.to);
  // Beside others: the space in front of the next one goes too.
  const gap = cut.from === from ? /^[ \t]*/.exec(text.slice(cut.to))?.[0].length : 0;
  return [{ ...cut, to: cut.to + (gap ?? 0) }];
}

function removeWithPrevious(text: string, { from, to }: Range, comma: Range): Splice[] {
  const isBeside = /^[ \t]*$/.test(text.slice(comma.to, from));
  return isBeside ? [{ from: comma.from, to, text: "" }] : [{ ...comma, text: "" }, removal(text, from, to)];
}
