import { createHash } from "node:crypto";
import { cutText } from "../../core/shared/text/text.ts";
import { decodeBytes } from "./mime.ts";
import { cleanLine } from "./text.ts";

/** The fields of a header block. Values are unfolded, and bounded in number and length. */
export interface MailHeader {
  /** The values of a field, by its name in lower case, in order. */
  values(name: string): string[];
  /** The first value that is not empty, or an empty string. */
  value(name: string): string;
  /** The raw fields that describe the encoding of the body. */
  content: Buffer;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const MAX_BLOCK_BYTES = 4 * 1024 * 1024;
const MAX_VALUES = 50;
const MAX_FIELD_BYTES = 65_536;

const NEEDED = new Set([
  "auto-submitted",
  "authentication-results",
  "cc",
  "content-type",
  "date",
  "from",
  "in-reply-to",
  "list-id",
  "message-id",
  "precedence",
  "received-spf",
  "references",
  "reply-to",
  "return-path",
  "sender",
  "subject",
  "to",
  "x-auto-response-suppress",
  "x-autoreply",
  "x-autorespond",
]);
const CONTENT = /^(?:content-|mime-version$)/;

/** Splits a mail at its first empty line. */
export function splitHeader(source: Buffer): { block: Buffer; body: Buffer } {
  const limit = Math.min(source.length, MAX_BLOCK_BYTES);
  let at = 0;
  while (at < limit) {
    const end = endOfLine(source, at);
    if (isEmptyLine(source, at) || isBlankEnd(source, at, end))
      return { block: source.subarray(0, at), body: source.subarray(end) };
    at = end;
  }
  return { block: source.subarray(0, at), body: source.subarray(at) };
}

/** Reads a header block. `charset`: for bytes outside ASCII that are not UTF-8. */
export function readHeader(block: Buffer, charset: string): MailHeader {
  const fields = new Map<string, Buffer[]>();
  const content: Buffer[] = [];
  for (const { name, bytes } of readFields(block)) {
    if (CONTENT.test(name) && bytes.length < MAX_FIELD_BYTES && content.length < MAX_VALUES) {
      // The last line of the block may have no line feed.
      content.push(bytes.at(-1) === LF ? bytes : Buffer.concat([bytes, Buffer.of(LF)]));
    }
    if (NEEDED.has(name)) fields.set(name, [...(fields.get(name) ?? []), bytes].slice(0, MAX_VALUES));
  }
  const values = (name: string): string[] => (fields.get(name) ?? []).map((bytes) => toValue(bytes, charset));
  return { values, value: (name) => values(name).find(Boolean) ?? "", content: Buffer.concat(content) };
}

/** The offset behind the line that begins at `from`. */
export function endOfLine(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(LF, from);
  return end < 0 ? bytes.length : end + 1;
}

const BYTE_ORDER_MARK = Buffer.from("\ufeff");

/** Lines that are not a field, such as the first one of an mbox entry, are ignored. */
function* readFields(block: Buffer): Generator<{ name: string; bytes: Buffer }> {
  for (let at = block.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0; at < block.length;) {
    let end = endOfLine(block, at);
    // Folded lines begin with a space or a tab.
    while (block[end] === SPACE || block[end] === TAB) end = endOfLine(block, end);
    const bytes = block.subarray(at, end);
    const name = /^([^\s:]{1,80})[ \t]*:/.exec(bytes.toString("latin1", 0, 200))?.[1];
    if (name) yield { name: name.toLowerCase(), bytes };
    at = end;
  }
}

function toValue(field: Buffer, charset: string): string {
  const bytes = field.subarray(field.indexOf(":") + 1).subarray(0, MAX_FIELD_BYTES);
  return decodeBytes(bytes, charset)
    .replaceAll(/[\r\n\0]+/g, "")
    .trim();
}

/** A line of blanks ends the header unless a field or a folded line follows. */
function isBlankEnd(bytes: Buffer, at: number, end: number): boolean {
  if (bytes[at] !== SPACE && bytes[at] !== TAB) return false;
  if (!/^[ \t]+\r*\n$/.test(bytes.toString("latin1", at, Math.min(end, at + 200)))) return false;
  return !/^(?:[\w-]+[ \t]*:|[ \t]+\S)/.test(bytes.toString("latin1", end, end + 200));
}

function isEmptyLine(bytes: Buffer, at: number): boolean {
  let end = at;
  while (bytes[end] === CR) end += 1;
  return bytes[end] === LF;
}

/** With the digest, an id is shorter than 200 characters: what the `mail` preset uses of it. */
const MAX_ID_CHARACTERS = 180;
const MAX_MESSAGE_ID_CHARACTERS = 512;

/** The parts of a mail that its id covers. */
interface Identity {
  header: MailHeader;
  body: Uint8Array;
  /** In bytes, as the server says: the body may be cut. */
  size: number;
  attachments: readonly object[];
}

/**
 * Identifies a mail: its Message-ID and a digest. The sender chooses the Message-ID, and some programs give one to all of their
 * mails, so the digest tells another mail with the same one apart. undefined: it has no Message-ID.
 */
export function toMailId({ header: { value }, body, size, attachments }: Identity): string | undefined {
  const messageId = toMessageId(value("message-id"));
  if (messageId === undefined) return undefined;
  const fields = ["message-id", "from", "date", "subject"].map((name) => value(name).replaceAll(/\s+/g, " "));
  const digest = createHash("sha256")
    .update(JSON.stringify([...fields, size, attachments]))
    .update(body)
    .digest("hex");
  return `${cutText(messageId, MAX_ID_CHARACTERS)}#${digest.slice(0, 16)}`;
}

/** The id in a Message-ID header, or the first of several; undefined if there is none. */
export function toMessageId(header: string): string | undefined {
  const value = cleanLine(header);
  const id = /<([^<>\s]+)>/.exec(value)?.[1] ?? value.replaceAll(/[<>]/g, "").trim();
  return id ? cleanLine(id, MAX_MESSAGE_ID_CHARACTERS) : undefined;
}
