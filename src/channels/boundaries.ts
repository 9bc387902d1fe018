/** Where a text can be cut. All offsets are UTF-16 code units; a cut stands at the end of what goes before it. */

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const sentences = new Intl.Segmenter(undefined, { granularity: "sentence" });

/** Length of the longest prefix that fits. `fits` must not turn true again as the text grows. */
export function longestPrefix(text: string, fits: (prefix: string) => boolean): number {
  let tooLong = 1;
  while (tooLong <= text.length && fits(text.slice(0, tooLong))) tooLong *= 2;
  let fitting = Math.floor(tooLong / 2);
  tooLong = Math.min(tooLong, text.length + 1);
  while (tooLong - fitting > 1) {
    const middle = Math.floor((fitting + tooLong) / 2);
    if (fits(text.slice(0, middle))) fitting = middle;
    else tooLong = middle;
  }
  return fitting;
}

/** Paragraphs, lines, sentences and words, in this order of preference; each finds its cuts in ascending order. */
export const NATURAL_CUTS: ((text: string) => number[])[] = [
  (text) => offsetsOf(text, /\n[^\S\n]*\n/g),
  (text) => offsetsOf(text, /\n/g),
  (text) => Array.from(sentences.segment(text), (sentence) => sentence.index).slice(1),
  (text) => offsetsOf(text, /\s+/g),
];

/**
 * The last place up to `wanted` that is not inside a character as a reader sees it: an emoji with its modifiers, a letter
 * with its marks. Where the first one alone goes further, not inside a code point.
 */
export function characterBoundary(text: string, wanted: number): number {
  // The text behind may be long, and a character that goes on further than this is no character.
  const near = text.slice(0, wanted + 64);
  const start = characters.segment(near).containing(wanted)?.index ?? wanted;
  return start > 0 ? start : codePointBoundary(text, wanted);
}

/** At least one code point, so that whoever cuts there gets on. */
function codePointBoundary(text: string, wanted: number): number {
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0).length;
  const splitsPair = /^[\uD800-\uDBFF][\uDC00-\uDFFF]/.test(text.slice(wanted - 1, wanted + 1));
  return Math.max(first, splitsPair ? wanted - 1 : wanted);
}

function offsetsOf(text: string, separator: RegExp): number[] {
  return Array.from(text.matchAll(separator), (match) => match.index);
}
