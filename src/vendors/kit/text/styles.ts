/** Styles of a service that takes them beside the text instead of in it. */
export interface Styles<Style extends string> {
  /** A text without the characters that mark styles while it is rendered. */
  text(plain: string): string;
  mark(style: Style): (inner: string) => string;
  /** The pieces of a rendered text, in order, with the styles that hold for them. None is empty. */
  split(rendered: string): { text: string; styles: Style[] }[];
}

/** Characters for private use: one begins a style, and the one after it ends it. */
const FIRST = 0xe000;

export function createStyles<Style extends string>(names: readonly Style[]): Styles<Style> {
  const marks = `${String.fromCodePoint(FIRST)}-${String.fromCodePoint(FIRST + 2 * names.length - 1)}`;
  const anyMark = new RegExp(`[${marks}]`, "g");
  const switches = new RegExp(`([${marks}])`);
  return {
    text: (plain) => plain.replaceAll(anyMark, ""),
    mark(style) {
      const begin = FIRST + 2 * names.indexOf(style);
      return (inner) => `${String.fromCodePoint(begin)}${inner}${String.fromCodePoint(begin + 1)}`;
    },
    split(rendered) {
      const depths = names.map(() => 0);
      return rendered.split(switches).flatMap((piece, index) => {
        // Every second piece is a mark.
        if (index % 2 === 0) return piece === "" ? [] : { text: piece, styles: names.filter((_, at) => depths[at]) };
        const place = piece.charCodeAt(0) - FIRST;
        depths[place >> 1] = (depths[place >> 1] ?? 0) + (place % 2 === 0 ? 1 : -1);
        return [];
      });
    },
  };
}
