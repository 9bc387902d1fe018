import type { FetchMessageObject, FetchQueryObject, ImapFlow, MessageStructureObject } from "imapflow";
import { assembleMail } from "../content/assemble-mail.ts";
import type { MailAttachment } from "../port.ts";
import { fetchMails } from "./fetch-mails.ts";
import { pickParts } from "./pick-parts.ts";

export interface PartOfMail {
  /** What `readMail` takes. */
  source: Uint8Array;
  attachments: MailAttachment[];
  /** Whether some of its text was left behind. */
  isCut: boolean;
}

const MOST_HEADER_BYTES = 256 * 1024;
/** All texts together. */
const MOST_TEXT_BYTES = 512 * 1024;

/** Of a mail that is too large to be taken whole: its header and its texts. Undefined where the server does not give them. */
export async function fetchLarge(client: ImapFlow, uid: number): Promise<PartOfMail | undefined> {
  const described = await fetchOne(client, uid, { bodyStructure: true });
  if (!described?.bodyStructure) return undefined;
  const { texts, attachments } = pickParts(described.bodyStructure);
  const maxLength = Math.floor(MOST_TEXT_BYTES / Math.max(texts.length, 1));
  const bodyParts = texts.flatMap((text) => toQueries(text, maxLength));
  const fetched = await fetchOne(client, uid, {
    bodyParts: [{ key: "HEADER", maxLength: MOST_HEADER_BYTES }, ...bodyParts],
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
