import type * as PostalMime from "postal-mime";
import type { Email, Mailbox } from "postal-mime";
import { loadAtFirstUse } from "../../core/shared/system/package.ts";

const postalMime = loadAtFirstUse<typeof PostalMime>("postal-mime");

export type { Mailbox };

/** The parser compares each line with the boundaries of all enclosing parts, so nesting multiplies its work. */
const MAX_DEPTH = 40;
const MAX_FORWARD_DEPTH = 3;

/** The decoded parts of a mail. Rejects if it is nested too deeply, or if its headers are too large. */
export async function parseMime(source: Uint8Array): Promise<Email> {
  return await postalMime().default.parse(source, {
    maxNestingDepth: MAX_DEPTH,
    maxRfc822NestingDepth: MAX_FORWARD_DEPTH,
  });
}

/** Decodes the encoded words (RFC 2047) of a header value. */
export function decodeWords(header: string): string {
  return postalMime().decodeWords(joinWords(header));
}

/** The mailboxes of an address field that separates them in one of the usual ways. */
export function parseMailboxes(field: string): Mailbox[] {
  return postalMime()
    .addressParser(field, { flatten: true })
    .filter((each) => each.group === undefined);
}

/**
 * Joins neighboring words in base64, since many programs split a character between two words, which the library cannot
 * decode. Not for ISO-2022, where each word begins with its own escape sequence. Words in UTF-7 become UTF-8.
 */
export function joinWords(written: string): string {
  const header = written
    .replaceAll(/=\?iso-2022-jp-[\w-]{1,20}\?/gi, "=?iso-2022-jp?")
    .replaceAll(/=\?utf-7\?([bq])\?([^?]*)\?=/gi, (_, encoding: string, content: string) => {
      const text = decodeUtf7(postalMime().decodeWords(`=?us-ascii?${encoding}?${content}?=`));
      return `=?utf-8?B?${Buffer.from(text).toString("base64")}?=`;
    });
  const neighbors = /=\?(?!iso-2022)([^?\s]+)\?B\?[^?]*\?=(?:\s+=\?\1\?B\?[^?]*\?=)+/gi;
  return header.replaceAll(neighbors, (words, charset: string) => {
    const contents = words.matchAll(/\?B\?([^?]*)/gi);
    const bytes = Buffer.concat(Array.from(contents, ([, content = ""]) => Buffer.from(content, "base64")));
    return `=?${charset}?B?${bytes.toString("base64")}?=`;
  });
}

/** The beginning of Japanese text in ISO-2022-JP. */
const JAPANESE_ESCAPE = "\u001b$";
/** From an escape sequence on, all that can be Japanese. */
// oxlint-disable-next-line eslint/no-control-regex -- Escape sequences begin with a control character.
const JAPANESE = /\u001b[$(][\u001b\x20-\x7e]*/g;

/**
 * Decodes ISO-2022-JP in a text that was decoded as if it were ASCII, because no charset was declared, or one that the library does
 * not know. It has no 8-bit bytes, so that nothing of it was lost.
 */
export function decodeJapanese(text: string): string {
  if (!text.includes(JAPANESE_ESCAPE)) return text;
  return text.replaceAll(JAPANESE, (part) => new TextDecoder("iso-2022-jp").decode(Buffer.from(part, "latin1")));
}

/** Decodes UTF-7 (RFC 2152), which no runtime does, in a text of ASCII. */
export function decodeUtf7(text: string): string {
  return text.replaceAll(/\+([A-Za-z\d+/]*)-?/g, (part, content: string) => {
    if (content === "") return part === "+-" ? "+" : part;
    const bytes = Buffer.from(content, "base64");
    const decoded = new TextDecoder("utf-16be").decode(bytes.subarray(0, bytes.length & ~1));
    return decoded.includes("\ufffd") || decoded === "" ? part : decoded;
  });
}

/** Decodes text without a declared charset: UTF-8 if it is valid, ISO-2022-JP by its escapes, else `charset`. */
export function decodeBytes(bytes: Buffer, charset: string): string {
  if (bytes.includes(JAPANESE_ESCAPE)) return new TextDecoder("iso-2022-jp").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder(charset).decode(bytes);
  }
}

/** The header of a text part, with its folded lines. */
const TEXT_PART = /^content-type:[ \t]*(?:\r?\n[ \t]+)?text\/[\w-]+[^\n]*(?:\n[ \t][^\n]*)*/gim;

/** Declares a charset for the text parts that declare none. Bytes of any charset stay as they are. */
export function withCharset(part: Buffer, charset: string): Buffer {
  const declared = part
    .toString("latin1")
    .replaceAll(TEXT_PART, (field) =>
      /charset\s*=/i.test(field) ? field : field.replace(/text\/[\w-]+/i, `$&; charset="${charset}"`),
    );
  return Buffer.from(declared, "latin1");
}

const SAMPLE_BYTES = 65_536;
const MAX_LABELS = 50;
/** `charset="koi8-r"` or `=?koi8-r?` */
const CHARSET_LABEL = /charset\s*=\s*["']?([\w.:-]{1,40})|=\?([\w.:-]{1,40})[?*]/gi;

/** The first 8-bit charset that a mail mentions, else windows-1252. */
export function guessCharset(source: Buffer): string {
  const start = source.toString("latin1", 0, SAMPLE_BYTES);
  const labels = Array.from(start.matchAll(CHARSET_LABEL), ([, declared, word]) => declared ?? word ?? "");
  const charsets = labels.slice(0, MAX_LABELS).map(toCharset);
  return charsets.find((charset) => charset && !/^(?:utf-|iso-2022-)/.test(charset)) ?? "windows-1252";
}

/** The name that the runtime uses for a charset; undefined if it cannot decode it. */
function toCharset(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

/** A longer text is not repaired. */
const MAX_REPAIR_CHARACTERS = 1_000_000;

const windows1252 = new TextDecoder("windows-1252");
const BYTE_OF = new Map(Array.from({ length: 256 }, (_, byte) => [windows1252.decode(Uint8Array.of(byte)), byte]));

/**
 * Repairs UTF-8 that was declared as ASCII or Latin-1 and decoded to `JÃ¶rg`. Other texts stay as they are: no language has
 * words that look like this.
 */
export function repairText(text: string): string {
  if (text.length > MAX_REPAIR_CHARACTERS || !/[\u00c2-\u00f4]/.test(text)) return text;
  const bytes = Array.from(text, (character) => BYTE_OF.get(character) ?? -1);
  if (bytes.includes(-1)) return text;
  try {
    // Decoded like a stream: a text that was cut may end within a character.
    const repaired = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes), { stream: true });
    // Without this, `JOSÉ` would lose its last letter, which looks like the start of a character.
    return /\P{ASCII}/u.test(repaired) ? repaired : text;
  } catch {
    return text;
  }
}
