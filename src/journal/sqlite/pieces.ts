import type { Bounded } from "../../boundary/boundary.ts";

/*
 * Prompts and replies often repeat what a row already holds, such as the body of the request. They are stored as pieces of
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
export function toPieces(text: string, source: Uint8Array): Pieces {
  if (text.length < MIN_PIECE || source.length < MIN_PIECE) return text;
  const bytes = Buffer.from(text);
  const known = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const pieces: Exclude<Pieces, string> = [];
  let rest = 0;
  let misses = 0;
  for (let at = 0; at + PROBE <= bytes.length && pieces.length < MAX_PIECES && misses < MAX_MISSES;) {
    const found = known.indexOf(bytes.subarray(at, at + PROBE));
    const { start, end } = found === -1 ? NOT_FOUND : extend(bytes, known, { at, found, from: rest });
    if (end - start < MIN_PIECE) {
      misses += 1;
      at += PROBE;
      continue;
    }
    if (start > rest) pieces.push(bytes.toString("utf8", rest, start));
    pieces.push([found - (at - start), end - start]);
    at = end;
    rest = end;
  }
  if (pieces.length === 0) return text;
  if (rest < bytes.length) pieces.push(bytes.toString("utf8", rest));
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
  bytes: Buffer,
  known: Buffer,
  { at, found, from }: { at: number; found: number; from: number },
): { start: number; end: number } {
  const shift = found - at;
  let start = at;
  while (start > from && bytes[start - 1] === known[start - 1 + shift]) start -= 1;
  let end = at + PROBE;
  while (end < bytes.length && bytes[end] === known[end + shift]) end += 1;
  while (isInsideCharacter(bytes[start])) start += 1;
  while (isInsideCharacter(bytes[end])) end -= 1;
  return { start, end };
}

/** Of a body, an action or a source, in bytes: what is longer is not stored in a row that changes, and not searched. */
export const MAX_INLINE = 4096;

/** Of a text that repeats nothing. */
export const NO_SOURCE = Buffer.of();

/** The source of an event's texts: its body, if it is in the event's row. */
export function sourceOf(body: Uint8Array | undefined): Uint8Array {
  return body && body.length <= MAX_INLINE ? body : NO_SOURCE;
}

/** What the entries of a run may repeat: also its reply. */
export function sourceOfRun(body: Uint8Array | undefined, reply: string): Uint8Array {
  const source = sourceOf(body);
  return reply.length > MAX_INLINE ? source : Buffer.concat([source, Buffer.from(reply)]);
}

/** A text that is stored as pieces, with its boundary. */
export interface Content {
  text: Pieces;
  boundary?: Bounded["boundary"];
}

export function toContent({ text, boundary }: Bounded, source: Uint8Array): Content {
  return { text: toPieces(text, source), boundary };
}

function isInsideCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
