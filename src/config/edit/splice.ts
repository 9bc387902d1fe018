import { isDeepStrictEqual } from "node:util";
import { isObject, type Segment } from "../../shared/json.ts";

/** A piece of a text, by offsets, and what stands in its place instead. */
export interface Splice {
  from: number;
  to: number;
  text: string;
}

/** Carries out splices that do not overlap; their line breaks become those of the text. */
export function splice(text: string, splices: readonly Splice[]): string {
  const lineBreak = /\r?\n/.exec(text)?.[0] ?? "\n";
  return splices
    .toSorted((one, other) => other.from - one.from)
    .reduce((edited, { from, to, text: piece }) => {
      return edited.slice(0, from) + piece.replaceAll("\n", lineBreak) + edited.slice(to);
    }, text);
}

export function insertion(at: number, text: string): Splice {
  return { from: at, to: at, text };
}

/** What stands before an offset on its line. */
export function lineBefore(text: string, offset: number): string {
  return text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
}

/** What stands behind an offset on its line, without the line break. */
export function lineAfter(text: string, offset: number): string {
  return /[^\r\n]*/.exec(text.slice(offset))?.[0] ?? "";
}

/** The white space that the line of an offset begins with. */
export function indentOf(text: string, offset: number): string {
  return /^[ \t]*/.exec(lineBefore(text, offset))?.[0] ?? "";
}

/** Takes a piece out, and with it the lines on which nothing else stands. */
export function removal(text: string, from: number, to: number): Splice {
  const before = lineBefore(text, from);
  const after = lineAfter(text, to);
  if (before.trim() !== "") return { from, to, text: "" };
  if (after.trim() !== "") return { from, to: to + after.length - after.trimStart().length, text: "" };
  const lineBreak = /\r?\n/y;
  lineBreak.lastIndex = to + after.length;
  const length = lineBreak.exec(text)?.[0].length ?? 0;
  return { from: from - before.length, to: to + after.length + length, text: "" };
}

/** What is to stand at a place; undefined: nothing. An index just behind the last one appends. */
export interface Change {
  path: readonly Segment[];
  value: unknown;
}

/** The fewest changes that turn one value into another. What lies in objects is changed key by key, a list as a whole. */
export function toChanges(before: unknown, after: unknown, path: readonly Segment[] = []): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, value: after }];
  const keys = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...keys].flatMap((key) => toChanges(before[key], after[key], [...path, key]));
}

/** A copy of a value with a change carried out; what is missing on the way is made. */
export function applyChange(value: unknown, { path, value: wanted }: Change): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return wanted;
  if (typeof first === "number")
    return applyAt(Array.isArray(value) ? value : [], first, { path: rest, value: wanted });

  const entries = Object.entries(isObject(value) ? value : {});
  const old = entries.find(([key]) => key === first)?.[1];
  const next = applyChange(old, { path: rest, value: wanted });
  const others = entries.filter(([key]) => key !== first);
  // Not by assignment: a key `__proto__` must stay a key.
  return Object.fromEntries(next === undefined ? others : [...others, [first, next]]);
}

/** What a change puts where nothing of its path is there yet. */
export function nest(path: readonly Segment[], value: unknown): unknown {
  return applyChange(undefined, { path, value });
}

function applyAt(items: unknown[], index: number, change: Change): unknown[] {
  const next = applyChange(items[index], change);
  return next === undefined ? items.toSpliced(index, 1) : items.toSpliced(index, 1, next);
}
