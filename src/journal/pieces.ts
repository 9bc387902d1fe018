/*
 * Pieces: prompts and replies often repeat what a row already holds, such as the body of the request. They are stored as pieces of
 * that source.
 */

/** A text as it is, or its parts in order: new text, or bytes of the source. */
export type Pieces = string | (string | [offset: number, length: number])[];

/** A shorter piece would hardly save space. One of this length contains a whole probe, wherever the probes are. */
const MIN_PIECE = 32;
const PROBE = 16;
/** Bound the time for texts that repeat little. */
const MAX_PIECES = 32;
const MAX_MISSES = 32;

/** A text that is found nowhere in the source is given back as it is. */
export function toPieces(whole: string, source: Uint8Array): Pieces {
  if (whole.length < MIN_PIECE || source.length < MIN_PIECE) return whole;
  const encoded = Buffer.from(whole);
  const known = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const pieces: Exclude<Pieces, string> = [];
  let rest = 0;
  let misses = 0;
  for (let at = 0; at + PROBE <= encoded.length && pieces.length < MAX_PIECES && misses < MAX_MISSES;) {
    const found = known.indexOf(encoded.subarray(at, at + PROBE));
    const { start, end } = found === -1 ? NOT_FOUND : extend(encoded, known, { at, found, from: rest });
    if (end - start < MIN_PIECE) {
      misses += 1;
      at += PROBE;
      continue;
    }
    if (start > rest) pieces.push(encoded.toString("utf8", rest, start));
    pieces.push([found - (at - start), end - start]);
    at = end;
    rest = end;
  }
  if (pieces.length === 0) return whole;
  if (rest < encoded.length) pieces.push(encoded.toString("utf8", rest));
  return pieces;
}

export function fromPieces(pieces: Pieces, source: Uint8Array): string {
  if (typeof pieces === "string") return pieces;
  const parts = pieces.map((piece) =>
    typeof piece === "string" ? Buffer.from(piece) : source.subarray(piece[0], piece[0] + piece[1]),
  );
  return Buffer.concat(parts).toString("utf8");
}

const NOT_FOUND = { start: 0, end: 0 };

/** The longest match around the one that was found, in whole characters. */
function extend(
  encoded: Buffer,
  known: Buffer,
  { at, found, from }: { at: number; found: number; from: number },
): { start: number; end: number } {
  const shift = found - at;
  let start = at;
  while (start > from && encoded[start - 1] === known[start - 1 + shift]) start -= 1;
  let end = at + PROBE;
  // A whole field is often repeated up to the end of the text.
  const rest = encoded.length - end;
  const isKnown = end + shift + rest <= known.length;
  if (isKnown && encoded.compare(known, end + shift, end + shift + rest, end) === 0) end += rest;
  while (end < encoded.length && encoded[end] === known[end + shift]) end += 1;
  while (isInsideCharacter(encoded[start])) start += 1;
  while (isInsideCharacter(encoded[end])) end -= 1;
  return { start, end };
}

function isInsideCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
