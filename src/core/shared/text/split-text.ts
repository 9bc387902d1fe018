import { cutText } from "./text.ts";

export interface SplitOptions {
  /** The longest part, in units of `measure`. */
  limit: number;
  /** The length of a text as the service counts it. It must not shrink as the text grows. Default: UTF-16 code units. */
  measure?(text: string): number;
}

/**
 * Splits a text into parts within the limit: between paragraphs, else lines, sentences or words, and inside a character
 * only if it alone is too long. A fenced code block or a table stays whole if it fits into a part; a longer one is closed
 * and opened again, a table with its header. Only white space at the cuts is lost. A blank text has no parts.
 */
export function splitText(text: string, size: SplitOptions): string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest !== "") {
    const { head, tail } = splitOnce(rest, size);
    parts.push(head);
    rest = tail;
  }
  return parts.filter((part) => part.trim() !== "");
}

interface Cut {
  head: string;
  /** "" if all of the text fits. */
  tail: string;
}

/** The first part of a text, as `splitText` gives it, and the rest. */
export function splitOnce(text: string, size: SplitOptions): Cut {
  const fits: Fits = (part) => (size.measure?.(part) ?? part.length) <= size.limit;
  return fits(text) ? { head: text, tail: "" } : cutOnce(text, fits);
}

type Fits = (text: string) => boolean;

function cutOnce(text: string, fits: Fits): Cut {
  const end = longestPrefix(text, fits);
  const fences = findBlocks(text, end).filter((fence) => leavesRoom(fence, fits));
  // A cut that leaves more than half of a part empty comes last.
  const late = naturalCut(text, { from: end / 2, end, fences });
  if (late !== undefined) return cutAt(text, late);
  const open = fences.find((fence) => fence.start < end && end < fence.end);
  const inside = open && cutInside(text, open, fits);
  if (inside) return inside;
  return cutAt(text, naturalCut(text, { from: 0, end, fences }) ?? characterBoundary(text, end));
}

/** Length of the longest prefix that fits, by binary search. */
function longestPrefix(text: string, fits: Fits): number {
  let tooLong = 1;
  while (tooLong <= text.length && fits(text.slice(0, tooLong))) tooLong *= 2;
  let fitting = Math.floor(tooLong / 2);
  tooLong = Math.min(tooLong, text.length + 1);
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if (fits(text.slice(0, middle))) fitting = middle;
    else tooLong = middle;
  }
  return fitting;
}

/** Made at the first use: each takes as long as a tenth of a start. */
let sentences: Intl.Segmenter | undefined;
let characters: Intl.Segmenter | undefined;

/** Offsets of paragraphs, lines, sentences and words, in order of preference. */
const NATURAL_CUTS: ((text: string) => number[])[] = [
  (text) => offsetsOf(text, /\n[^\S\n]*\n/g),
  (text) => offsetsOf(text, /\n/g),
  (text) => {
    sentences ??= new Intl.Segmenter(undefined, { granularity: "sentence" });
    return Array.from(sentences.segment(text), (sentence) => sentence.index).slice(1);
  },
  (text) => offsetsOf(text, /\s+/g),
];

function offsetsOf(text: string, separator: RegExp): number[] {
  return Array.from(text.matchAll(separator), (match) => match.index);
}

/** The last cut between `from` and `end`, outside of fences, of the most preferred kind. */
function naturalCut(
  text: string,
  { from, end, fences }: { from: number; end: number; fences: Fence[] },
): number | undefined {
  // One character more than fits, since white space at a cut is dropped.
  const window = text.slice(0, end + 1);
  const isCut = (at: number): boolean =>
    at >= from && at <= end && !fences.some((fence) => fence.start < at && at < fence.end);
  for (const findCuts of NATURAL_CUTS) {
    const cut = findCuts(window).findLast(isCut);
    if (cut !== undefined) return cut;
  }
  return undefined;
}

/** Drops the white space around the cut, but keeps the indentation of the next line. */
function cutAt(text: string, at: number): Cut {
  return { head: text.slice(0, at).trimEnd(), tail: text.slice(at).replace(/^(?:\s*\n|\s+)/, "") };
}

/** Closes a fence that is too long for a part after the last line that fits, and opens it again for the rest. */
function cutInside(text: string, fence: Fence, fits: Fits): Cut | undefined {
  if (fits(text.slice(fence.start, fence.end))) return undefined;
  const end = longestPrefix(text, (prefix) => fits(`${prefix}\n${fence.close}`));
  const newline = text.lastIndexOf("\n", end);
  if (newline >= fence.bodyStart) return reopen(text, fence, { end: newline, next: newline + 1 });
  if (fence.start > 0) return undefined;
  const at = fence.bodyStart + cutInLine(text.slice(fence.bodyStart), end - fence.bodyStart);
  return reopen(text, fence, { end: at, next: at });
}

/** Cuts a long line of code after a space, which is kept. */
function cutInLine(code: string, end: number): number {
  return code.lastIndexOf(" ", end - 1) + 1 || characterBoundary(code, end);
}

function reopen(text: string, fence: Fence, { end, next }: { end: number; next: number }): Cut {
  return {
    head: `${text.slice(0, end)}\n${fence.close}`.trimEnd(),
    tail: `${fence.open}\n${text.slice(next)}`,
  };
}

/**
 * The last offset up to `wanted` that is not inside a character as a reader sees it, such as an emoji with modifiers. If the
 * first character is longer, an offset between its code points.
 */
function characterBoundary(text: string, wanted: number): number {
  // No real character is longer than this, and the rest of the text may be long.
  const near = text.slice(0, wanted + 64);
  characters ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const start = characters.segment(near).containing(wanted)?.index ?? wanted;
  if (start > 0) return start;
  const firstCodePoint = String.fromCodePoint(text.codePointAt(0) ?? 0);
  return Math.max(firstCodePoint.length, cutText(text, wanted).length);
}

/** A fenced code block in a text. Offsets are UTF-16 code units. */
export interface Fence {
  start: number;
  /** After the opening line and its newline. */
  bodyStart: number;
  /** After the closing line, without its newline; the end of the text if the block is never closed. */
  end: number;
  /** The opening line, without its newline. */
  open: string;
  close: string;
}

const FENCE_LINE = /^( {0,3})(`{3,}|~{3,})([^\n]*)$/gm;

/** The fenced code blocks of a Markdown text that begin before `until`, in order. */
export function findFences(text: string, until: number = text.length): Fence[] {
  const fences: Fence[] = [];
  let current: Fence | undefined;
  for (const match of text.matchAll(FENCE_LINE)) {
    const [line, indent = "", marks = "", info = ""] = match;
    const end = match.index + line.length;
    if (current) {
      if (info.trim() !== "" || !marks.startsWith(current.close.trimStart())) continue;
      current.end = end;
      current = undefined;
    } else if (match.index >= until) {
      break;
    } else if (marks.startsWith("~") || !info.includes("`")) {
      // The condition excludes "```code```", which is code within a line.
      current = { start: match.index, bodyStart: end + 1, end: text.length, open: line, close: indent + marks };
      fences.push(current);
    }
  }
  return fences;
}

/** A table's header and the row below it. */
const TABLE_HEAD = /^[^\n]*\|[^\n]*\n {0,3}(?=[^\n]*\|)[|:-][ \t|:-]*-[ \t|:-]*$/gm;

/** The fenced code blocks and the tables that begin before `until`, in order. A table ends before a blank line. */
function findBlocks(text: string, until: number): Fence[] {
  const fences = findFences(text, until);
  const tables = Array.from(text.slice(0, until).matchAll(TABLE_HEAD), ({ index: start, 0: open }): Fence => {
    const blank = /\n[^\S\n]*(?:\n|$)/g;
    blank.lastIndex = start;
    return { start, bodyStart: start + open.length + 1, end: blank.exec(text)?.index ?? text.length, open, close: "" };
  });
  const isCode = ({ start }: Fence): boolean => fences.some((fence) => fence.start <= start && start < fence.end);
  return [...fences, ...tables.filter((table) => !isCode(table))].toSorted((a, b) => a.start - b.start);
}

/** A fence whose own lines would fill most of a part is treated as text. */
function leavesRoom(fence: Fence, fits: Fits): boolean {
  return fits(`${fence.open}\n${fence.close}\n`.repeat(3));
}
