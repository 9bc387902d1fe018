const LF = 0x0a;
const CR = 0x0d;
const FIELD = /^[\u0021-\u0039\u003b-\u007e]+[ \t]*:/;
/** A line that only a header has: with one of them below it, a line that is no field is a flaw and not the end. */
const TELLING_FIELD = /^(?:from|to|subject|date|message-id|content-type|mime-version):/im;
/** A hostile one may go on for ever: what follows is no header any more. */
const LONGEST_BLOCK = 4 * 1024 * 1024;
/** How far ahead such a line is looked for. */
const LOOK_AHEAD = 65_536;

/**
 * Divides a mail at the empty line that ends its header block, or, where it has none, at the first line that cannot be a header.
 * The mbox line that some stores put before the block is left out; where carriage returns alone end the lines, line feeds do.
 */
export function splitHeader(bytes: Buffer): { block: Buffer; body: Buffer } {
  const source = toLines(bytes);
  const start = /^>?From /.test(source.toString("latin1", 0, 6)) ? endOfLine(source, 0) : 0;
  const most = Math.min(source.length, LONGEST_BLOCK);
  let at = start;
  let flawed = false;
  while (at < most) {
    const end = endOfLine(source, at);
    const line = source.toString("latin1", at, Math.min(end, at + 1000));
    if (/^\r*\n?$/.test(line)) return { block: source.subarray(start, at), body: source.subarray(end) };
    if (!flawed && !FIELD.test(line) && !/^[ \t]/.test(line)) {
      if (!isHeaderBelow(source, at)) break;
      flawed = true;
    }
    at = end;
  }
  return { block: source.subarray(start, at), body: source.subarray(at) };
}

/** Where the line that begins at `from` ends, its line feed included. */
export function endOfLine(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(LF, from);
  return end < 0 ? bytes.length : end + 1;
}

function toLines(bytes: Buffer): Buffer {
  return bytes.includes(LF) ? bytes : Buffer.from(bytes.map((byte) => (byte === CR ? LF : byte)));
}

function isHeaderBelow(source: Buffer, from: number): boolean {
  const rest = source.toString("latin1", from, from + LOOK_AHEAD);
  const end = /\n\r*\n/.exec(rest)?.index ?? rest.length;
  return TELLING_FIELD.test(rest.slice(0, end));
}
