import { decodeBytes } from "./decode-bytes.ts";
import { endOfLine } from "./split-header.ts";

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
const MOST_VALUES = 50;
const MOST_VALUE_BYTES = 65_536;
const CONTENT = /^(?:content-|mime-version$)/;
const LONGEST_CONTENT = 65_536;

/** Reads a header block. `charset`: that of bytes which say nothing of theirs. */
export function readHeader(block: Buffer, charset: string): MailHeader {
  const fields = new Map<string, Buffer[]>();
  const content: Buffer[] = [];
  for (const { name, bytes } of eachField(block)) {
    if (CONTENT.test(name) && bytes.length < LONGEST_CONTENT && content.length < MOST_VALUES)
      content.push(toLine(bytes));
    if (WANTED.has(name)) fields.set(name, [...(fields.get(name) ?? []), bytes].slice(0, MOST_VALUES));
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
  const bytes = field.subarray(field.indexOf(":") + 1).subarray(0, MOST_VALUE_BYTES);
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
