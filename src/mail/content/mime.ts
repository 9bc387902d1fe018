import PostalMime, { addressParser, decodeWords } from "postal-mime";
import type { Email, Mailbox } from "postal-mime";

export { decodeWords };

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

/** The mailboxes of an address header, those of its groups among them; names decoded. */
export function parseAddresses(header: string): Mailbox[] {
  return addressParser(header, { flatten: true }).filter((address) => address.group === undefined);
}
