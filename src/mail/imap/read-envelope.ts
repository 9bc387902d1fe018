import type { MessageAddressObject, MessageEnvelopeObject } from "imapflow";
import { readMail } from "../content/read-mail.ts";
import { fetchMails } from "./fetch-mails.ts";
import type { Reader } from "./reader.ts";
import { FACTS, toFacts, toMarks } from "./to-facts.ts";

/** Reads of mails what the server keeps beside their text, which it may still have where it cannot give that. */
export const readEnvelope: Reader = async function* readEnvelope(folder, uids, options) {
  const query = { ...FACTS, size: false, envelope: true };
  for await (const message of fetchMails(folder.client, uids, query)) {
    if (!message.envelope) continue;
    const mail = await readMail(toHeader(message.envelope), toFacts(folder, message), options);
    yield {
      uid: message.uid,
      received: { mail: { ...mail, truncated: true }, marks: toMarks(folder, message) },
    };
  }
};

function toHeader({ messageId, date, subject, from, to, cc }: MessageEnvelopeObject): Buffer {
  const lines = {
    "Message-ID": messageId,
    Date: date instanceof Date ? date.toUTCString() : date,
    From: toAddresses(from),
    To: toAddresses(to),
    Cc: toAddresses(cc),
    Subject: subject,
  };
  const written = Object.entries(lines).filter(([, value]) => value);
  return Buffer.from(written.map(([name, value]) => `${name}: ${toLine(value ?? "")}\r\n`).join(""));
}

function toAddresses(addresses: MessageAddressObject[] = []): string {
  return addresses
    .map(({ name, address }) => (name ? `"${name.replaceAll(/["\\]/g, "")}" <${address}>` : address))
    .join(", ");
}

/** What stands in one header must not begin another. */
function toLine(value: string): string {
  return value.replaceAll(/\p{Cc}+/gu, " ");
}
