import type * as Re2js from "re2js";
import { messageOf } from "../../errors.ts";
import { loadAtFirstUse } from "../../shared/system/package.ts";
import { createWeakCache } from "../../shared/weak-cache.ts";
import { findFacts } from "./build-facts.ts";

const re2js = loadAtFirstUse<typeof Re2js>("re2js");

/** A regular expression ready for use. */
export interface Expression {
  test(text: string): boolean;
  /** The original text: `/body/flags`. */
  toString(): string;
}

/**
 * Prepares an operator's expression for hostile texts: it runs in linear time with RE2, where JavaScript's own engine can
 * take exponential time, and matches the same texts. `flags`: of i, m, s and u. Throws a `SyntaxError` for an invalid
 * expression, and an `Error` that names what RE2 does not support.
 */
export function compileExpression(body: string, flags: string): Expression {
  return expressions.get(`${flags}/${body}`, () => compile(body, flags));
}

/** The calls of a preset have the same few. */
const expressions = createWeakCache<Expression>();

function compile(body: string, flags: string): Expression {
  const native = new RegExp(body, flags);
  let linear: Re2js.RE2JS | undefined;
  const ready = (): Re2js.RE2JS => (linear ??= compileLinear(native, body, flags));
  findFacts(`expression ${flags}`, body, () => {
    ready();
    return {};
  });
  return { test: (text) => ready().test(text), toString: () => String(native) };
}

function compileLinear(native: RegExp, body: string, flags: string): Re2js.RE2JS {
  try {
    return re2js().RE2JS.compile(toRe2(body, flags));
  } catch (error) {
    throw new Error(
      `the expression ${String(native)} cannot run in linear time: ${messageOf(error)}. With a crafted request it ` +
        "could block the whole service. Avoid look-around, back references and counts over 1000 (maxLength limits a whole text)",
      { cause: error },
    );
  }
}

/**
 * A valid JavaScript expression in the syntax of RE2, without capturing groups. Throws an `Error` that names what RE2 does
 * not support.
 */
function toRe2(body: string, flags: string): string {
  const tokens = body.matchAll(flags.includes("u") ? UNICODE_TOKEN : TOKEN);
  return Array.from(tokens, ({ 0: text, groups = {} }) => translate(text, groups, flags)).join("");
}

function translate(text: string, token: Record<string, string | undefined>, flags: string): string {
  if (token["unsupported"] !== undefined) throw new Error(`${text} is not supported by the linear-time engine (RE2)`);
  if (token["open"] !== undefined) return "(?:";
  if (token["kept"] !== undefined) return text;
  // With the flag m only \n counts as a line end. Headers contain none, and schemas have no flags.
  if (text === "^") return flags.includes("m") ? "(?m:^)" : "\\A";
  if (text === "$") return flags.includes("m") ? "(?m:$)" : "\\z";
  if (token["edge"] === undefined) return toCharacterClass(text, flags);
  // With both flags, JavaScript counts two more letters as parts of words: ſ and the Kelvin sign.
  if (!flags.includes("u") || !flags.includes("i")) return text;
  throw new Error(`${text} with the flags i and u is not supported by the linear-time engine (RE2)`);
}

/** Look-around, inline flags, back references, and the ambiguous octal escapes and bare `\c`. */
const UNSUPPORTED = /\(\?(?!:|<[^=!])<?[^)]?|\\[1-9k]|\\0\d|\\c(?![A-Za-z])/;
const OPEN = /\((?:\?:|\?<[^>]*>)?/;
const KEPT = /[)|]|(?:[*+?]|\{\d+(?:,\d*)?\})\??/;
const EDGE = /\\[bB]/;
const ESCAPE = /\\(?:c[A-Za-z]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})/;
const UNICODE_ESCAPE = /\\(?:u\{[0-9A-Fa-f]+\}|[pP]\{[^}]*\}|u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2})/;
const CLASS = /\[(?:\\[^]|[^\]\\])*\]/;
const CHARACTER = /\\?[^]/;

const STRUCTURE = `(?<unsupported>${UNSUPPORTED.source})|(?<open>${OPEN.source})|(?<kept>${KEPT.source})|(?<edge>${EDGE.source})`;
const ATOM = `${ESCAPE.source}|${CLASS.source}|${CHARACTER.source}`;

const TOKEN = new RegExp(`${STRUCTURE}|${ATOM}`, "g");
const UNICODE_TOKEN = new RegExp(`${STRUCTURE}|${UNICODE_ESCAPE.source}|${ATOM}`, "gu");

/**
 * The part of a JavaScript expression that matches one character (`a`, `.`, `\s`, `[^a-z]`, `\p{L}`) as a class of RE2
 * that lists the characters. They are found by running JavaScript's own engine over all characters, so that classes,
 * escapes, Unicode and letter case need no rules here. Throws an `Error` if it matches half of a surrogate pair.
 */
function toCharacterClass(atom: string, flags: string): string {
  const key = `${flags}/${atom}`;
  const known = classes.get(key) ?? write(rangesOf(atom, flags));
  classes.set(key, known);
  return known;
}

/** First and last code point. */
type Range = readonly [number, number];

/** A search takes a millisecond, and expressions consist of the same few classes. */
const classes = new Map<string, string>();

const LAST = 0x10_ff_ff;
const HIGH_SURROGATES = 0xd8_00;
const LOW_SURROGATES = 0xdc_00;
const AFTER_SURROGATES = 0xe0_00;
const ASTRAL = 0x1_00_00;

/** All characters in three texts, so that no two surrogates form a pair. */
const blocks: [start: number, end: number, text?: string][] = [
  [0, LOW_SURROGATES],
  [LOW_SURROGATES, ASTRAL],
  [ASTRAL, LAST + 1],
];

function rangesOf(atom: string, flags: string): Range[] {
  const expression = new RegExp(`(?:${atom})+`, `g${flags.replace("m", "")}`);
  if (flags.includes("u")) return blocks.flatMap((_, index) => scan(index, expression));
  return withAstral([0, 1].flatMap((index) => scan(index, expression)));
}

function scan(index: number, expression: RegExp): Range[] {
  const block = blocks[index];
  if (!block) return [];
  block[2] ??= listCharacters(block[0], block[1]);
  const [start, , text] = block;
  const unit = start === ASTRAL ? 2 : 1;
  return Array.from(text.matchAll(expression), ({ 0: found, index: at }) => {
    const first = start + at / unit;
    return [first, first + found.length / unit - 1];
  });
}

/** From their units: to join a million texts would take a hundred times as long. */
function listCharacters(start: number, end: number): string {
  const isAstral = start >= ASTRAL;
  const units = new Uint16Array((end - start) * (isAstral ? 2 : 1));
  for (let code = start, at = 0; code < end; code++) {
    if (isAstral) units[at++] = HIGH_SURROGATES + ((code - ASTRAL) >> 10);
    units[at++] = isAstral ? LOW_SURROGATES + (code & 0x3_ff) : code;
  }
  return Buffer.from(units.buffer).toString("utf16le");
}

/**
 * Without the flag u JavaScript sees two surrogates where RE2 sees one character: what matches every surrogate matches
 * every pair.
 */
function withAstral(ranges: Range[]): Range[] {
  const surrogates = ranges.reduce((sum, [first, last]) => sum + countSurrogates(first, last), 0);
  if (surrogates === 0) return ranges;
  if (surrogates === AFTER_SURROGATES - HIGH_SURROGATES) return [...ranges, [ASTRAL, LAST]];
  throw new Error("half of a surrogate pair without the flag u is not supported by the linear-time engine (RE2)");
}

function countSurrogates(first: number, last: number): number {
  return Math.max(0, Math.min(last + 1, AFTER_SURROGATES) - Math.max(first, HIGH_SURROGATES));
}

function write(ranges: Range[]): string {
  if (ranges.length === 0) return NOTHING;
  return `[${ranges.map(([first, last]) => `${hex(first)}-${hex(last)}`).join("")}]`;
}

function hex(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

const NOTHING = `[^${hex(0)}-${hex(LAST)}]`;
