import { HookError } from "../errors.ts";
import { isTooDeep, MAX_DEPTH } from "../shared/json.ts";

/** Parses any JSON value. Throws a 400 that reveals nothing of the text. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") throw new HookError("invalid_json", { message: "The body is empty, but must be JSON." });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, so it is not even kept as the cause.
    throw new HookError("invalid_json");
  }
  // A short text cannot hold that many brackets.
  if (text.length > 2 * MAX_DEPTH && isTooDeep(value)) {
    throw new HookError("invalid_json", { message: `The body nests deeper than ${MAX_DEPTH} levels.` });
  }
  return value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const OBJECT = 0x7b;
const END_ARRAY = 0x5d;
const END_OBJECT = 0x7d;

/** Whether JSON could nest too deep, in less time than parsing takes. Only repeated keys can make it wrong, to the safe side. */
export function mayBeTooDeep(json: Buffer): boolean {
  // A short body cannot hold that many brackets.
  if (json.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = findEnd(json, at);
    } else if (byte === ARRAY || byte === OBJECT) {
      if (++depth > MAX_DEPTH) return true;
    } else if (byte === END_ARRAY || byte === END_OBJECT) {
      depth--;
    }
  }
  return false;
}

/** Where the string ends that begins here. */
function findEnd(json: Buffer, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** The text is probably meant as a JSON object or array. */
export function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}
