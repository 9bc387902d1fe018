import PostalMime, { addressParser, decodeWords as decode, type Email, type Mailbox } from "postal-mime";

/**
 * More than any honest mail nests. Each line is held against the boundaries of all that it stands in, so that this is also how
 * many times over a hostile mail is read.
 */
const MAX_DEPTH = 40;
const MAX_FORWARD_DEPTH = 3;

/** The parts of a mail, decoded. Rejects where the library gives up: too deep, or its headers too large. */
export async function parseMime(source: Uint8Array): Promise<Email> {
  return await PostalMime.parse(source, {
    maxNestingDepth: MAX_DEPTH,
    maxRfc822NestingDepth: MAX_FORWARD_DEPTH,
  });
}

/** A header's value with its encoded words (RFC 2047) decoded. */
export function decodeWords(header: string): string {
  const text = decode(joinWords(header));
  return isUtf7(header) ? decodeUtf7(text) : text;
}

/** The mailboxes of an address header, those of its groups among them; names decoded. */
export function parseAddresses(header: string): Mailbox[] {
  const mailboxes = addressParser(joinWords(header), { flatten: true }).filter(
    (address) => address.group === undefined,
  );
  return isUtf7(header) ? mailboxes.map((mailbox) => ({ ...mailbox, name: decodeUtf7(mailbox.name) })) : mailboxes;
}

/**
 * Neighbours in base64 are made one: many a program divides a text within a character, which the library does not expect. Not
 * those of ISO-2022, of which each begins with an escape of its own.
 */
function joinWords(header: string): string {
  const neighbours = /=\?(?!iso-2022)([^?\s]+)\?B\?[^?]*\?=(?:\s+=\?\1\?B\?[^?]*\?=)+/gi;
  return header.replaceAll(neighbours, (words, charset: string) => {
    const contents = words.matchAll(/\?B\?([^?]*)/gi);
    const bytes = Buffer.concat(Array.from(contents, ([, content = ""]) => Buffer.from(content, "base64")));
    return `=?${charset}?B?${bytes.toString("base64")}?=`;
  });
}

/** Text in UTF-7 (RFC 2152), which neither the runtime nor the library knows, and which old mails are in. */
export function decodeUtf7(text: string): string {
  return text.replaceAll(/\+([A-Za-z0-9+/]*)-?/g, (_, content: string) => (content ? decodeRun(content) : "+"));
}

/** Whether a header or a body speaks of it. */
export function isUtf7(text: string): boolean {
  return /(?:=\?|charset\s*=\s*["']?)(?:x-|unicode-1-1-)?utf-7\b/i.test(text);
}

function decodeRun(content: string): string {
  const bytes = Buffer.from(content, "base64");
  return new TextDecoder("utf-16be").decode(bytes.subarray(0, bytes.length - (bytes.length % 2)));
}

/** What Japanese text in seven bits begins with. */
const ESCAPE = "\u001b$";
/** How far into a mail a charset is looked for. */
const LOOK_INTO = 65_536;

const MAX_LABELS = 50;
/** `charset="koi8-r"` or `=?koi8-r?` */
const LABEL = /charset\s*=\s*["']?([\w.:-]{1,40})|=\?([\w.:-]{1,40})[?*]/gi;

/** Text whose charset nobody declared: UTF-8 where it is, ISO-2022-JP where its escapes say so, else `charset`. */
export function decodeBytes(bytes: Buffer, charset: string): string {
  if (bytes.includes(ESCAPE)) return new TextDecoder("iso-2022-jp").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder(charset).decode(bytes);
  }
}

/** The charset that a mail speaks of first, of those that 8-bit text may be in; windows-1252 where it names none. */
export function guessCharset(source: Buffer): string {
  const start = source.toString("latin1", 0, LOOK_INTO);
  const labels = Array.from(start.matchAll(LABEL), ([, declared, word]) => declared ?? word ?? "");
  const charsets = labels.slice(0, MAX_LABELS).map(toCharset);
  return charsets.find((charset) => charset && !/^(?:utf-|iso-2022-)/.test(charset)) ?? "windows-1252";
}

/** The name that this runtime has for a charset; undefined where it cannot decode it. */
function toCharset(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

/** A longer text is left as it is. */
const MAX_CHARACTERS = 1_000_000;

const windows1252 = new TextDecoder("windows-1252");
const BYTE_OF = new Map(Array.from({ length: 256 }, (_, byte) => [windows1252.decode(Uint8Array.of(byte)), byte]));

/**
 * Undoes the commonest wrong label: UTF-8 that was declared as ASCII or Latin-1, and so was read as `JÃ¶rg`. Any other text
 * is given back as it is; what would pass for UTF-8 by chance does not occur in a language.
 */
export function repairText(text: string): string {
  if (text.length > MAX_CHARACTERS || !/[\u00c2-\u00f4]/.test(text)) return text;
  const bytes = Array.from(text, (character) => BYTE_OF.get(character) ?? -1);
  if (bytes.includes(-1)) return text;
  const repaired = decodeText(Uint8Array.from(bytes));
  // Nothing but an incomplete end: `JOSÉ` ends in what begins a character of two bytes.
  return repaired && /\P{ASCII}/u.test(repaired) ? repaired : text;
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    // As a stream: a text that was cut may end within a character.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
