import { cleanLine } from "./clean.ts";

const MOST_CHARACTERS = 200;
const segmenter = new Intl.Segmenter();
/** How much of a text is looked at. */
const LOOK_AT = 20_000;

/** The beginning of a text on one line: its own words, or, where it has none, those that it quotes. */
export function toSnippet(text: string): string {
  const start = text.slice(0, LOOK_AT);
  const own = start
    .split("\n")
    .filter((line) => !isQuote(line))
    .join(" ");
  return cutCharacters(cleanLine(own.trim() ? own : start));
}

/** Never cuts within what a reader takes for one character. */
function cutCharacters(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  const end = segmenter.segment(text).containing(MOST_CHARACTERS)?.index;
  return text.slice(0, end);
}

function isQuote(line: string): boolean {
  return line.startsWith(">") || /^On .{1,200} wrote:\s*$/.test(line);
}
