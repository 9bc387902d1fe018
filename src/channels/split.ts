import { characterBoundary, longestPrefix, NATURAL_CUTS } from "./boundaries.ts";
import { findFences, type Fence } from "./fences.ts";

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
