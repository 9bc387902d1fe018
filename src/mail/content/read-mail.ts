import { createHash } from "node:crypto";
import type { Mail, MailAttachment } from "../port.ts";
import { boundBody } from "./bound-body.ts";
import { cleanLine, cutBytes } from "./clean.ts";
import { guessCharset } from "./decode-bytes.ts";
import { decodeWords } from "./mime.ts";
import { readAuthentication } from "./read-authentication.ts";
import { readHeader } from "./read-header.ts";
import { readParts } from "./read-parts.ts";
import { repairText } from "./repair-text.ts";
import { splitHeader } from "./split-header.ts";
import { toDate } from "./to-date.ts";
import { toMailId } from "./to-mail-id.ts";
import { toPeople } from "./to-people.ts";
import { toSnippet } from "./to-snippet.ts";

/** What a source knows of a mail beside its text. */
export interface MailFacts {
  folder: string;
  /** Keywords or labels by their names. */
  labels: string[];
  /** When the server received it, in milliseconds since the epoch. */
  receivedAt: number;
  /** The provider's own thread, where it has one. */
  threadId?: string;
  /** Where the source does not hold them: what is attached. */
  attachments?: MailAttachment[];
}

export interface ReadOptions {
  maxBytes: number;
  authservId: string | undefined;
}

const MOST_RECIPIENTS = 100;

/**
 * Reads a mail from its bytes as they travel (RFC 5322), or as many of them as there are. Never rejects: of a broken mail it
 * gives what can be understood.
 */
export async function readMail(source: Uint8Array, facts: MailFacts, options: ReadOptions): Promise<Mail> {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const charset = guessCharset(bytes);
  const { block, body } = splitHeader(bytes);
  const header = readHeader(block, charset);
  const parts = await readParts(header.content, boundBody(body), charset);
  const [author] = toPeople([...header.values("from"), ...header.values("sender")], 1);
  const id = toMailId(header.value("message-id")) ?? toDigest(source);
  const text = cutBytes(parts.text, options.maxBytes);
  return {
    id,
    from: author?.display ?? "",
    sender: author?.address ?? "",
    to: toRecipients(header.values("to")),
    cc: toRecipients(header.values("cc")),
    subject: cleanLine(repairText(decodeWords(header.value("subject")))),
    date: toDate(header.value("date"), facts.receivedAt),
    snippet: toSnippet(parts.text),
    body: text,
    truncated: text.length < parts.text.length,
    attachments: (facts.attachments ?? parts.attachments).map(cleanAttachment),
    threadId:
      facts.threadId ?? toMailId(header.value("references")) ?? toMailId(header.value("in-reply-to")) ?? id,
    listId: toListId(header.value("list-id")),
    folder: facts.folder,
    labels: facts.labels,
    authentication: readAuthentication(
      { results: header.values("authentication-results"), receivedSpf: header.value("received-spf") },
      options.authservId,
    ),
  };
}

function toRecipients(headers: string[]): string[] {
  return toPeople(headers, MOST_RECIPIENTS).map(({ display }) => display);
}

/** The names of a server's own account are as the sender wrote them. */
function cleanAttachment({ name, type, size }: MailAttachment): MailAttachment {
  return { name: cleanLine(name), type: cleanLine(type), size };
}

function toDigest(source: Uint8Array): string {
  return `sha256:${createHash("sha256").update(source).digest("hex")}`;
}

/** `Example announcements <announce.example.org>` → `announce.example.org` */
function toListId(header: string): string {
  return cleanLine(/<([^<>]*)>/.exec(header)?.[1] ?? header);
}
