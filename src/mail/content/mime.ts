import PostalMime, { addressParser, decodeWords as decode } from "postal-mime";
import type { Email, Mailbox } from "postal-mime";
import { decodeUtf7, isUtf7 } from "./decode-utf7.ts";

/**
 * More than any honest mail nests. Each line is held against the boundaries of all that it stands in, so that this is also how
 * many times over a hostile mail is read.
 */
const DEEPEST_NESTING = 40;
const DEEPEST_FORWARD = 3;

/** The parts of a mail, decoded. Rejects where the library gives up: too deep, or its headers too large. */
export async function parseMime(source: Uint8Array): Promise<Email> {
  return await PostalMime.parse(source, {
    maxNestingDepth: DEEPEST_NESTING,
    maxRfc822NestingDepth: DEEPEST_FORWARD,
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
  return isUtf7(header)
    ? mailboxes.map((mailbox) => ({ ...mailbox, name: decodeUtf7(mailbox.name) }))
    : mailboxes;
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
