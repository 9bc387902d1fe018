import { cleanLine } from "./clean.ts";

const MOST_CHARACTERS = 200;
/** How much of a text is looked at. */
const LOOK_AT = 20_000;
/** Lines that begin with `>`, and the one above them that says whose they are, in any language. */
const QUOTED = /(?:^[^\n>][^\n]*:[ \t]*\n\s*)?^>[^\n]*$/gm;

const segmenter = new Intl.Segmenter();

/** The beginning of a text on one line: its own words, or, where it has none, those that it quotes. */
export function toSnippet(text: string): string {
  const start = text.slice(0, LOOK_AT);
  return cutCharacters(cleanLine(start.replaceAll(QUOTED, "")) || cleanLine(start));
}

/** Never cuts within what a reader takes for one character. */
function cutCharacters(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  const end = segmenter.segment(text).containing(MOST_CHARACTERS)?.index;
  return text.slice(0, end);
}
