import { HookError } from "../errors.ts";

/** Far over what any sender writes, far under what makes recursive code run out of stack. */
const MAX_DEPTH = 1000;

/** Parses any JSON value; throws a 400 that says nothing of what it holds. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") throw invalid("The body is empty: JSON was expected.");
  if (isTooDeep(text)) throw invalid(`The body nests deeper than ${MAX_DEPTH} levels.`);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, so it is not even kept as the cause.
    throw invalid("The body is not valid JSON.");
  }
}

/** Counts brackets outside strings. A text shorter than so many pairs of them needs no counting. */
function isTooDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === "[" || char === "{") depth++;
    else if (char === "]" || char === "}") depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

/** Place of the quote that ends the string begun at `start`; the text's length where none does. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at];
    if (char === "\\") at++;
    else if (char === '"') return at;
  }
  return text.length;
}

function invalid(message: string): HookError {
  return new HookError(400, "invalid_json", message);
}
