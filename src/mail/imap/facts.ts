import type { FetchMessageObject, MessageAddressObject, MessageEnvelopeObject } from "imapflow";
import { type MailFacts, readMail } from "../message/read-mail.ts";
import type { FollowOptions, MailMarks, ReceivedMail } from "../source.ts";
import type { OpenFolder } from "./connect.ts";
import { fetchMails } from "./position.ts";
import type { Reader } from "./reader.ts";

/** What is asked of every mail before its text is. */
export const FACTS = { uid: true, size: true, flags: true, internalDate: true, labels: true, threadId: true };

/** What the server knows of a mail beside its text. */
export function toFacts({ name }: OpenFolder, message: FetchMessageObject): MailFacts {
  const { flags = new Set(), labels = new Set(), threadId, internalDate } = message;
  const keywords = [...flags].filter((flag) => !flag.startsWith("\\"));
  return {
    folder: name,
    labels: [...keywords, ...[...labels].map((label) => label.replace(/^\\/, ""))],
    receivedAt: toTime(internalDate),
    ...(threadId && { threadId }),
  };
}

/** What a server marks itself, or lets others mark, by the folder, by a flag or by one of Gmail's labels. */
export function toMarks({ use }: OpenFolder, { flags, labels }: FetchMessageObject): MailMarks {
  const marks = new Set([use, ...(flags ?? []), ...(labels ?? [])].map((mark) => mark?.toLowerCase()));
  const hasAny = (...names: string[]): boolean => names.some((name) => marks.has(name));
  return {
    spam: hasAny("\\junk", "\\spam", "$junk", "junk"),
    trash: hasAny("\\trash", "\\deleted"),
    draft: hasAny("\\drafts", "\\draft"),
  };
}

/** Milliseconds since the epoch. A date that the server gives in no form that is known counts as now. */
export function toTime(internalDate: Date | string | undefined): number {
  return internalDate instanceof Date ? internalDate.getTime() : Date.now();
}

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

/** A mail of which the server gives nothing at all: that it is there, under an id that stays the same. */
export async function readNothing(
  { name, uidValidity }: OpenFolder,
  uid: number,
  options: FollowOptions,
): Promise<ReceivedMail> {
  const id = `${uid}.${uidValidity}.${encodeURIComponent(name)}@unreadable.invalid`;
  const header = Buffer.from(`Message-ID: <${id}>\r\n`);
  const mail = await readMail(header, { folder: name, labels: [], receivedAt: Date.now() }, options);
  return { mail: { ...mail, truncated: true }, marks: { spam: false, trash: false, draft: false } };
}
