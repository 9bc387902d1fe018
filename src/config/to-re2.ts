import { toCharacterClass } from "./to-character-class.ts";

/**
 * A valid JavaScript expression in the syntax of RE2, for nothing but to test texts: its groups capture nothing. Throws
 * an `Error` that says what in it RE2 does not have.
 */
export function toRe2(body: string, flags: string): string {
  const tokens = body.matchAll(flags.includes("u") ? UNICODE_TOKEN : TOKEN);
  return Array.from(tokens, ({ 0: text, groups = {} }) => translate(text, groups, flags)).join("");
}

function translate(text: string, token: Record<string, string | undefined>, flags: string): string {
  if (token["alien"] !== undefined) throw new Error(`${text} has no linear form`);
  if (token["open"] !== undefined) return "(?:";
  if (token["kept"] !== undefined) return text;
  // Of line ends only \n counts under the flag m; a header holds none, and schemas have no flags.
  if (text === "^") return flags.includes("m") ? "(?m:^)" : "\\A";
  if (text === "$") return flags.includes("m") ? "(?m:$)" : "\\z";
  if (token["edge"] !== undefined) return toEdge(text, flags);
  return toCharacterClass(text, flags);
}

/** With both flags JavaScript counts two letters more as parts of words: ſ and the sign of Kelvin. */
function toEdge(text: string, flags: string): string {
  if (flags.includes("u") && flags.includes("i"))
    throw new Error(`${text} has no linear form under the flags i and u`);
  return text;
}

/** Look-around, flags for a part, back references; octal numbers and a bare `\c` look like these or mean several characters. */
const ALIEN = /\(\?(?!:|<[^=!])<?[^)]?|\\[1-9k]|\\0\d|\\c(?![A-Za-z])/;
const OPEN = /\((?:\?:|\?<[^>]*>)?/;
const KEPT = /[)|]|(?:[*+?]|\{\d+(?:,\d*)?\})\??/;
const EDGE = /\\[bB]/;
const ESCAPE = /\\(?:c[A-Za-z]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})/;
const UNICODE_ESCAPE =
  /\\(?:u\{[0-9A-Fa-f]+\}|[pP]\{[^}]*\}|u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})/;
const CLASS = /\[(?:\\[^]|[^\]\\])*\]/;
const CHARACTER = /\\?[^]/;

const STRUCTURE = `(?<alien>${ALIEN.source})|(?<open>${OPEN.source})|(?<kept>${KEPT.source})|(?<edge>${EDGE.source})`;
const ATOM = `${ESCAPE.source}|${CLASS.source}|${CHARACTER.source}`;

const TOKEN = new RegExp(`${STRUCTURE}|${ATOM}`, "g");
const UNICODE_TOKEN = new RegExp(`${STRUCTURE}|${UNICODE_ESCAPE.source}|${ATOM}`, "gu");
