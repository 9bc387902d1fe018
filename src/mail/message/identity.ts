import { createHash } from "node:crypto";
import { cutText } from "../../shared/text.ts";
import { readHeader } from "./header.ts";
import { cleanLine } from "./text.ts";

/** With the digest, an id is shorter than 200 characters: what the `mail` preset uses of it. */
const MAX_ID_CHARACTERS = 180;
const MAX_MESSAGE_ID_CHARACTERS = 512;

/**
 * Identifies a mail by its header, or by the fields of it that `IDENTITY_FIELDS` names: the Message-ID and a digest. The sender
 * chooses the Message-ID, so the digest tells another mail with the same one apart. `size`: as the server says.
 * undefined: it has no Message-ID.
 */
export function toMailId(header: Buffer, size = 0): string | undefined {
  // The charset of the whole mail is not known where only these fields are.
  const { value } = readHeader(header, "latin1");
  const messageId = toMessageId(value("message-id"));
  if (messageId === undefined) return undefined;
  const facts = IDENTITY_FIELDS.map((name) => value(name).replaceAll(/\s+/g, " "));
  const digest = createHash("sha256").update(JSON.stringify([...facts, size]));
  return `${cutText(messageId, MAX_ID_CHARACTERS)}#${digest.digest("hex").slice(0, 16)}`;
}

export const IDENTITY_FIELDS = ["message-id", "from", "date", "subject"];

/** The id in a Message-ID header, or the first of several; undefined if there is none. */
export function toMessageId(header: string): string | undefined {
  const value = cleanLine(header);
  const id = /<([^<>\s]+)>/.exec(value)?.[1] ?? value.replaceAll(/[<>]/g, "").trim();
  return id ? cleanLine(id, MAX_MESSAGE_ID_CHARACTERS) : undefined;
}
