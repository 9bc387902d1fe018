import { decodeBytes } from "./mime.ts";

/** The fields of a header block. Values are unfolded, and bounded in number and length. */
export interface MailHeader {
  /** The values of a field by its name in lower case, in their order. */
  values(name: string): string[];
  /** The first one; empty where there is none. */
  value(name: string): string;
  /** The fields that say how the body is encoded, as they came. */
  content: Buffer;
}

const LF = 0x0a;
const WANTED = new Set([
  "authentication-results",
  "cc",
  "date",
  "from",
  "in-reply-to",
  "list-id",
  "message-id",
  "received-spf",
  "references",
  "sender",
  "subject",
  "to",
]);
const MAX_VALUES = 50;
const MAX_VALUE_BYTES = 65_536;
const CONTENT = /^(?:content-|mime-version$)/;
const MAX_CONTENT_LENGTH = 65_536;

/** Reads a header block. `charset`: that of bytes which say nothing of theirs. */
export function readHeader(block: Buffer, charset: string): MailHeader {
  const fields = new Map<string, Buffer[]>();
  const content: Buffer[] = [];
  for (const { name, bytes } of eachField(block)) {
    if (CONTENT.test(name) && bytes.length < MAX_CONTENT_LENGTH && content.length < MAX_VALUES)
      content.push(toLine(bytes));
    if (WANTED.has(name)) fields.set(name, [...(fields.get(name) ?? []), bytes].slice(0, MAX_VALUES));
  }
  const values = (name: string): string[] => (fields.get(name) ?? []).map((bytes) => toValue(bytes, charset));
  return {
    values,
    value: (name) => values(name).find(Boolean) ?? "",
    content: Buffer.concat(content),
  };
}

function* eachField(block: Buffer): Generator<{ name: string; bytes: Buffer }> {
  for (let at = 0; at < block.length;) {
    let end = endOfLine(block, at);
    while (isBlank(block[end])) end = endOfLine(block, end);
    const bytes = block.subarray(at, end);
    const name = /^([^\s:]{1,80})[ \t]*:/.exec(bytes.toString("latin1", 0, 200))?.[1];
    if (name) yield { name: name.toLowerCase(), bytes };
    at = end;
  }
}

/** What stands after the colon, unfolded. */
function toValue(field: Buffer, charset: string): string {
  const bytes = field.subarray(field.indexOf(":") + 1).subarray(0, MAX_VALUE_BYTES);
  return decodeBytes(bytes, charset)
    .replaceAll(/[\r\n\0]+/g, "")
    .trim();
}

/** The last line of a header may have lost its end. */
function toLine(field: Buffer): Buffer {
  return field.at(-1) === LF ? field : Buffer.concat([field, Buffer.of(LF)]);
}

/** Whether the byte begins a line that continues the one above it. */
function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09;
}

const LINE_FEED = 0x0a;
const CR = 0x0d;
const FIELD = /^[\u0021-\u0039\u003b-\u007e]+[ \t]*:/;
/** A line that only a header has: with one of them below it, a line that is no field is a flaw and not the end. */
const TELLING_FIELD = /^(?:from|to|subject|date|message-id|content-type|mime-version):/im;
/** A hostile one may go on for ever: what follows is no header any more. */
const MAX_BLOCK_LENGTH = 4 * 1024 * 1024;
/** How far ahead such a line is looked for. */
const LOOK_AHEAD = 65_536;

/**
 * Divides a mail at the empty line that ends its header block, or, where it has none, at the first line that cannot be a header.
 * The mbox line that some stores put before the block is left out; where carriage returns alone end the lines, line feeds do.
 */
export function splitHeader(bytes: Buffer): { block: Buffer; body: Buffer } {
  const source = toLines(bytes);
  const start = /^>?From /.test(source.toString("latin1", 0, 6)) ? endOfLine(source, 0) : 0;
  const most = Math.min(source.length, MAX_BLOCK_LENGTH);
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
  const end = bytes.indexOf(LINE_FEED, from);
  return end < 0 ? bytes.length : end + 1;
}

function toLines(bytes: Buffer): Buffer {
  return bytes.includes(LINE_FEED) ? bytes : Buffer.from(bytes.map((byte) => (byte === CR ? LINE_FEED : byte)));
}

function isHeaderBelow(source: Buffer, from: number): boolean {
  const rest = source.toString("latin1", from, from + LOOK_AHEAD);
  const end = /\n\r*\n/.exec(rest)?.index ?? rest.length;
  return TELLING_FIELD.test(rest.slice(0, end));
}
