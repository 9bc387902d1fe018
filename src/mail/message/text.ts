import { toBrief } from "../../core/shared/text/brief.ts";
import { cutText } from "../../core/shared/text/text.ts";

/** Characters that a reader cannot see and a model can: Unicode's tags, and marks that reorder text. */
const INVISIBLE = /[\u{e0000}-\u{e007f}\u202a-\u202e\u2066-\u2069]/gu;

/** Text for the body of a mail: line feeds only, no other control character but tab, well-formed. */
export function cleanText(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, "\n")
    .replaceAll(/[\p{Cc}--[\n\t]]/gv, "")
    .replaceAll(INVISIBLE, "")
    .toWellFormed();
}

/** The longest line that RFC 5322 allows. */
const MAX_LINE_LENGTH = 998;

/** Text for a field of a mail: one bounded line. */
export function cleanLine(text: string, maxCharacters: number = MAX_LINE_LENGTH): string {
  return cutText(cleanText(text).replaceAll(/\s+/g, " ").trim(), maxCharacters);
}

const GAP = "\n\n[the middle of the text is left out]\n\n";
/** Below this many bytes only the beginning is kept. */
const MIN_BYTES_WITH_END = 200;

/**
 * A text in at most this many bytes of UTF-8. A longer one loses its long quotes first, then its middle, since an answer may be
 * below what it quotes. Never cuts a character.
 */
export function shortenText(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const brief = toBrief(text);
  if (Buffer.byteLength(brief) <= maxBytes) return brief;
  if (maxBytes < MIN_BYTES_WITH_END) return cutBytes(brief, maxBytes);
  const room = maxBytes - Buffer.byteLength(GAP);
  const endBytes = Math.floor(room / 3);
  return cutBytes(brief, room - endBytes) + GAP + cutBytesBefore(brief, endBytes);
}

function cutBytes(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/** The end of a text. */
function cutBytesBefore(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  let at = bytes.length - maxBytes;
  // The middle of a character.
  while (((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return bytes.toString("utf8", at);
}

const MAX_SNIPPET_CHARACTERS = 200;
const SAMPLE_CHARACTERS = 20_000;
/** Lines that begin with `>`, and the line above that introduces them, in any language. */
const QUOTED = /(?:^[^\n>][^\n]*:[ \t]*\n\s*)?^>[^\n]*$/gm;

/** Made at the first use: each takes as long as a tenth of a start. */
let segmenter: Intl.Segmenter | undefined;

/** The beginning of a text on one line, without quotes unless it has nothing else. */
export function toSnippet(text: string): string {
  const start = text.slice(0, SAMPLE_CHARACTERS);
  const line = cleanLine(start.replaceAll(QUOTED, "")) || cleanLine(start);
  if (line.length <= MAX_SNIPPET_CHARACTERS) return line;
  // Never cuts what a reader sees as one character.
  segmenter ??= new Intl.Segmenter();
  return line.slice(0, segmenter.segment(line).containing(MAX_SNIPPET_CHARACTERS)?.index);
}
