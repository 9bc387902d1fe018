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
