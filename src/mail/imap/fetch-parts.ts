import type { FetchMessageObject, FetchQueryObject, ImapFlow, MessageStructureObject } from "imapflow";
import { readHeader } from "../message/header.ts";
import { assembleMail, toMailId } from "../message/read-mail.ts";
import { cleanLine } from "../message/text.ts";
import type { MailAttachment } from "../source.ts";
import type { OpenFolder } from "./connect.ts";
import { isRefusal } from "./errors.ts";
import { toTime } from "./facts.ts";
import { fetchMails } from "./position.ts";

export interface PartOfMail {
  /** What `readMail` takes. */
  source: Uint8Array;
  attachments: MailAttachment[];
  /** Whether some of its text was left behind. */
  isCut: boolean;
}

const MAX_HEADER_BYTES = 256 * 1024;
/** All texts together. */
const MAX_TEXT_BYTES = 512 * 1024;

/** Of a mail that is too large to be taken whole: its header and its texts. Undefined where the server does not give them. */
export async function fetchLarge(client: ImapFlow, uid: number): Promise<PartOfMail | undefined> {
  const described = await fetchOne(client, uid, { bodyStructure: true });
  if (!described?.bodyStructure) return undefined;
  const { texts, attachments } = pickParts(described.bodyStructure);
  const maxLength = Math.floor(MAX_TEXT_BYTES / Math.max(texts.length, 1));
  const bodyParts = texts.flatMap((text) => toQueries(text, maxLength));
  const fetched = await fetchOne(client, uid, {
    bodyParts: [{ key: "HEADER", maxLength: MAX_HEADER_BYTES }, ...bodyParts],
  });
  if (!fetched?.headers) return undefined;
  return {
    source: toSource(fetched.headers, texts, fetched.bodyParts ?? new Map()),
    attachments,
    isCut: texts.some(({ size = 0 }) => size > maxLength),
  };
}

type PartQueries = NonNullable<FetchQueryObject["bodyParts"]>;

function toQueries({ part }: MessageStructureObject, maxLength: number): PartQueries {
  return part === undefined ? [{ key: "TEXT", maxLength }] : [`${part}.MIME`, { key: part, maxLength }];
}

function toSource(header: Buffer, texts: MessageStructureObject[], bodies: Map<string, Buffer>): Uint8Array {
  const take = (key: string): Buffer => bodies.get(key) ?? Buffer.of();
  const [first] = texts;
  if (first && first.part === undefined) return Buffer.concat([header, take("text")]);
  return assembleMail(
    header,
    texts.map(({ part }) => Buffer.concat([take(`${part}.mime`), take(`${part}`)])),
  );
}

/** The answer may hold news of other mails, and of this one's flags. */
async function fetchOne(
  client: ImapFlow,
  uid: number,
  query: FetchQueryObject,
): Promise<FetchMessageObject | undefined> {
  let found: FetchMessageObject | undefined;
  for await (const answer of fetchMails(client, [uid], query)) {
    if (answer.uid === uid && (answer.bodyStructure ?? answer.headers)) found = answer;
  }
  return found;
}

export interface PickedParts {
  /** Worth reading, in their order. One without a part number is the mail's whole body. */
  texts: MessageStructureObject[];
  attachments: MailAttachment[];
}

const MAX_TEXTS = 5;
const MAX_ATTACHMENTS = 100;
const MAX_NAME_LENGTH = 255;

/** Tells what of a mail is text and what is attached, from its BODYSTRUCTURE. */
export function pickParts(structure: MessageStructureObject): PickedParts {
  const leaves = toLeaves(structure);
  const written = leaves.filter((part) => isText(part, "text/plain") && part.size !== 0);
  const shown = written.length > 0 ? written : leaves.filter((part) => isText(part, "text/html"));
  const events = leaves.filter(({ type }) => type === "text/calendar").slice(0, 1);
  return {
    texts: [...shown, ...events].slice(0, MAX_TEXTS),
    attachments: leaves.filter(isAttachment).slice(0, MAX_ATTACHMENTS).map(toAttachment),
  };
}

/** A mail that is attached to a mail stays one part. */
function toLeaves(node: MessageStructureObject): MessageStructureObject[] {
  return node.type.startsWith("multipart/") ? (node.childNodes ?? []).flatMap(toLeaves) : [node];
}

function isText({ type, disposition }: MessageStructureObject, wanted: string): boolean {
  return type === wanted && disposition !== "attachment";
}

function isAttachment(part: MessageStructureObject): boolean {
  if (isText(part, "text/plain") || isText(part, "text/html")) return false;
  const isShown = part.id !== undefined && part.disposition !== "attachment" && part.type.startsWith("image/");
  return toName(part) !== "" || !isShown;
}

/** Nearly all that is attached travels in base64: four characters for three bytes, 76 of them a line. */
function toAttachment(part: MessageStructureObject): MailAttachment {
  const { type, size = 0, encoding } = part;
  return {
    name: cleanLine(toName(part), MAX_NAME_LENGTH),
    type: cleanLine(type, MAX_NAME_LENGTH),
    size: encoding === "base64" ? Math.floor((size * 3 * 76) / (4 * 78)) : size,
  };
}

function toName({ parameters, dispositionParameters }: MessageStructureObject): string {
  return dispositionParameters?.["filename"] ?? parameters?.["name"] ?? "";
}

export interface Wish {
  /** Milliseconds since the epoch. */
  since: number;
  isKnown(id: string): boolean;
}

const LOOK = { uid: true, internalDate: true, headers: ["message-id"] };

/**
 * Leaves out the mails that were not received in time, or are known. What nothing is said of stays. One that cannot be looked at
 * makes a server refuse them all: it is found by halves, and stays, too. Rejects with the library's error.
 */
export async function pickWanted(folder: OpenFolder, uids: number[], wish: Wish): Promise<number[]> {
  try {
    const unwanted = new Set<number>();
    for await (const mail of fetchMails(folder.client, uids, LOOK)) {
      if (mail.internalDate !== undefined && !isWanted(mail, wish)) unwanted.add(mail.uid);
    }
    return uids.filter((uid) => !unwanted.has(uid));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (uids.length === 1) return uids;
    const half = Math.ceil(uids.length / 2);
    const first = await pickWanted(folder, uids.slice(0, half), wish);
    return [...first, ...(await pickWanted(folder, uids.slice(half), wish))];
  }
}

function isWanted({ internalDate, headers }: FetchMessageObject, { since, isKnown }: Wish): boolean {
  const id = toMailId(readHeader(headers ?? Buffer.of(), "utf-8").value("message-id"));
  return toTime(internalDate) >= since && !(id && isKnown(id));
}
