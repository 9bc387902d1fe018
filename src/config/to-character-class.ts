/**
 * What stands for one character in a JavaScript expression (`a`, `.`, `\s`, `[^a-z]`, `\p{L}`) as a class of RE2 that
 * lists its characters. JavaScript's own engine is asked for them, so that nothing of classes, escapes, Unicode and the
 * case of letters is told twice. Throws an `Error` where it takes a half of a character that needs two UTF-16 units.
 */
export function toCharacterClass(atom: string, flags: string): string {
  const key = `${flags}/${atom}`;
  const known = classes.get(key) ?? write(rangesOf(atom, flags));
  classes.set(key, known);
  return known;
}

/** First and last code point. */
type Range = readonly [number, number];

/** To look for one takes a millisecond, and expressions are made of the same few. */
const classes = new Map<string, string>();

const LAST = 0x10_ff_ff;
const HIGH_SURROGATES = 0xd8_00;
const LOW_SURROGATES = 0xdc_00;
const AFTER_SURROGATES = 0xe0_00;
const ASTRAL = 0x1_00_00;

/** All characters in three texts: halves must not stand so that they make a whole. */
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

function listCharacters(start: number, end: number): string {
  const characters: string[] = [];
  for (let code = start; code < end; code++) characters.push(String.fromCodePoint(code));
  return characters.join("");
}

/**
 * Without the flag u JavaScript sees two halves where RE2 sees one character: what takes every half takes every whole.
 */
function withAstral(ranges: Range[]): Range[] {
  const halves = ranges.reduce((sum, [first, last]) => sum + countHalves(first, last), 0);
  if (halves === 0) return ranges;
  if (halves === AFTER_SURROGATES - HIGH_SURROGATES) return [...ranges, [ASTRAL, LAST]];
  throw new Error("a half of a character has no linear form without the flag u");
}

function countHalves(first: number, last: number): number {
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
