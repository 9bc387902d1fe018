import { FORGERY, HARMLESS } from "./forgeries.ts";
import { toSkeleton } from "./skeleton.ts";

const MARKER_REMOVED = "[[MARKER_REMOVED]]";
const TOKEN_REMOVED = "[[CONTROL_TOKEN_REMOVED]]";

/**
 * Takes out of a text what imitates the boundary's markers or a model's control tokens, however it is disguised, and
 * leaves everything else as it is, character for character.
 */
export function neutralise(text: string): string {
  if (HARMLESS.test(text)) return text;
  let result = "";
  let done = 0;
  for (const { start, end, replacement } of findForgeries(text)) {
    result += text.slice(done, start) + replacement;
    done = end;
  }
  return result + text.slice(done);
}

interface Forgery {
  start: number;
  end: number;
  replacement: string;
}

/** From the first to the last, as places in the original text. */
function* findForgeries(text: string): Generator<Forgery> {
  const { text: skeleton, origins } = toSkeleton(text);
  FORGERY.lastIndex = 0;
  for (let match = FORGERY.exec(skeleton); match; match = FORGERY.exec(skeleton)) {
    const start = origins[match.index] ?? 0;
    const last = origins[match.index + match[0].length - 1] ?? start;
    const end = last + ((text.codePointAt(last) ?? 0) > 0xffff ? 2 : 1);
    if (match.groups?.marker !== undefined) yield { start, end, replacement: MARKER_REMOVED };
    // a tokenizer knows its tokens only without white space in them: "a < s > b" is arithmetic
    else if (!/\s/.test(text.slice(start, end))) yield { start, end, replacement: TOKEN_REMOVED };
    else FORGERY.lastIndex = match.index + 1;
  }
}
