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
