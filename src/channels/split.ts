export interface SplitOptions {
  /** The longest part, in units of `measure`. */
  limit: number;
  /** Length of a text as the service counts it; must not shrink as the text grows. Default: UTF-16 code units. */
  measure?: (text: string) => number;
}

/**
 * Splits a text into parts within the limit: at a paragraph, else a line, a sentence, a word, and inside a character only
 * where one alone is too long. A fenced code block that fits a part stays whole, a longer one is closed and opened again.
 * Nothing is lost but white space at the cuts; a blank text has no parts.
 */
export function splitText(text: string, { limit, measure = utf16Length }: SplitOptions): string[] {
  const fits: Fits = (part) => measure(part) <= limit;
  const parts: string[] = [];
  let rest = text;
  while (!fits(rest)) {
    const { head, tail } = cutOnce(rest, fits);
    parts.push(head);
    rest = tail;
  }
  return [...parts, rest].filter((part) => part.trim() !== "");
}

type Fits = (text: string) => boolean;

interface Cut {
  head: string;
  tail: string;
}

function cutOnce(text: string, fits: Fits): Cut {
  const end = longestPrefix(text, fits);
  const fences = findFences(text, end).filter((fence) => leavesRoom(fence, fits));
  // A cut that leaves more than half of a part unused comes last: parts should not become slivers.
  const full = naturalCut(text, { from: end / 2, end, fences });
  if (full !== undefined) return cutAt(text, full);
  const open = fences.find((fence) => fence.start < end && end < fence.end);
  const inside = open && cutInside(text, open, fits);
  if (inside) return inside;
  return cutAt(text, naturalCut(text, { from: 0, end, fences }) ?? characterBoundary(text, end));
}

/** The last cut between `from` and `end` of the kind a reader likes best, outside of fences. */
function naturalCut(
  text: string,
  { from, end, fences }: { from: number; end: number; fences: Fence[] },
): number | undefined {
  // One character more than fits, since the white space at a cut goes.
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

/** Closes a fence that is too long for a part behind the last line that fits, and opens it again for what is left. */
function cutInside(text: string, fence: Fence, fits: Fits): Cut | undefined {
  if (fits(text.slice(fence.start, fence.end))) return undefined;
  const end = longestPrefix(text, (prefix) => fits(`${prefix}\n${fence.close}`));
  const newline = text.lastIndexOf("\n", end);
  if (newline >= fence.bodyStart) return reopen(text, fence, { end: newline, next: newline + 1 });
  if (fence.start > 0) return undefined;
  const at = fence.bodyStart + cutInLine(text.slice(fence.bodyStart), end - fence.bodyStart);
  return reopen(text, fence, { end: at, next: at });
}

/** For a line of code that is itself too long: behind a space, which stays. */
function cutInLine(code: string, end: number): number {
  return code.lastIndexOf(" ", end - 1) + 1 || characterBoundary(code, end);
}

function reopen(text: string, fence: Fence, { end, next }: { end: number; next: number }): Cut {
  return {
    head: `${text.slice(0, end)}\n${fence.close}`,
    tail: `${fence.open}\n${text.slice(next)}`,
  };
}

/** A fence whose own two lines would take most of a part is treated as any other text. */
function leavesRoom(fence: Fence, fits: Fits): boolean {
  return fits(`${fence.open}\n${fence.close}\n`.repeat(3));
}

function utf16Length(text: string): number {
  return text.length;
}

/** Where a text can be cut. All offsets are UTF-16 code units; a cut stands at the end of what goes before it. */

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const sentences = new Intl.Segmenter(undefined, { granularity: "sentence" });

/** Length of the longest prefix that fits. `fits` must not turn true again as the text grows. */
function longestPrefix(text: string, fits: (prefix: string) => boolean): number {
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

/** Paragraphs, lines, sentences and words, in this order of preference; each finds its cuts in ascending order. */
const NATURAL_CUTS: ((text: string) => number[])[] = [
  (text) => offsetsOf(text, /\n[^\S\n]*\n/g),
  (text) => offsetsOf(text, /\n/g),
  (text) => Array.from(sentences.segment(text), (sentence) => sentence.index).slice(1),
  (text) => offsetsOf(text, /\s+/g),
];

/**
 * The last place up to `wanted` that is not inside a character as a reader sees it: an emoji with its modifiers, a letter
 * with its marks. Where the first one alone goes further, not inside a code point.
 */
function characterBoundary(text: string, wanted: number): number {
  // The text behind may be long, and a character that goes on further than this is no character.
  const near = text.slice(0, wanted + 64);
  const start = characters.segment(near).containing(wanted)?.index ?? wanted;
  return start > 0 ? start : codePointBoundary(text, wanted);
}

/** At least one code point, so that whoever cuts there gets on. */
function codePointBoundary(text: string, wanted: number): number {
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0).length;
  const splitsPair = /^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(wanted - 1, wanted + 1));
  return Math.max(first, splitsPair ? wanted - 1 : wanted);
}

function offsetsOf(text: string, separator: RegExp): number[] {
  return Array.from(text.matchAll(separator), (match) => match.index);
}

/** A fenced code block in a text. Offsets are UTF-16 code units. */
export interface Fence {
  /** Where its opening line begins. */
  start: number;
  /** After its opening line and the newline. */
  bodyStart: number;
  /** After its closing line, without the newline; the end of the text where it is never closed. */
  end: number;
  /** The opening line, without the newline. */
  open: string;
  /** What closes it. */
  close: string;
}

const FENCE_LINE = /^( {0,3})(`{3,}|~{3,})([^\n]*)$/gm;

/** The fenced code blocks of a Markdown text that begin before `until`, in order. */
export function findFences(text: string, until: number = text.length): Fence[] {
  const fences: Fence[] = [];
  let current: Fence | undefined;
  for (const match of text.matchAll(FENCE_LINE)) {
    const line = toLine(match);
    if (!current) {
      if (line.start >= until) break;
      current = openFence(line, text.length);
      if (current) fences.push(current);
    } else if (closes(line, current)) {
      current.end = line.end;
      current = undefined;
    }
  }
  return fences;
}

interface FenceLine {
  start: number;
  end: number;
  text: string;
  indent: string;
  marks: string;
  info: string;
}

function toLine(match: RegExpExecArray): FenceLine {
  const [text, indent = "", marks = "", info = ""] = match;
  return { start: match.index, end: match.index + text.length, text, indent, marks, info };
}

function openFence(line: FenceLine, textEnd: number): Fence | undefined {
  // "```like this```" is code within a line, not a fence.
  if (line.marks.startsWith("`") && line.info.includes("`")) return undefined;
  return {
    start: line.start,
    bodyStart: line.end + 1,
    end: textEnd,
    open: line.text,
    close: line.indent + line.marks,
  };
}

function closes(line: FenceLine, fence: Fence): boolean {
  return line.info.trim() === "" && line.marks.startsWith(fence.close.trimStart());
}
