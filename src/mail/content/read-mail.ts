import { createHash } from "node:crypto";
import type { Attachment, Email, Mailbox } from "postal-mime";
import type { Mail, MailAttachment } from "../port.ts";
import { cleanLine, cleanText, cutBytes } from "./clean.ts";
import { guessCharset } from "./decode-bytes.ts";
import { htmlToText } from "./html-to-text.ts";
import { decodeWords, parseAddresses, parseMime } from "./mime.ts";
import { readAuthentication } from "./read-authentication.ts";
import { readHeader } from "./read-header.ts";
import { splitHeader } from "./split-header.ts";
import { toDate } from "./to-date.ts";
import { toMailId } from "./to-mail-id.ts";
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
const MOST_ATTACHMENTS = 100;

/**
 * Reads a mail from its bytes as they travel (RFC 5322), or as many of them as there are. Never rejects: of a broken mail it
 * gives what can be understood.
 */
export async function readMail(source: Uint8Array, facts: MailFacts, options: ReadOptions): Promise<Mail> {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const { block, body } = splitHeader(bytes);
  const header = readHeader(block, guessCharset(bytes));
  const parts = await readParts(header.content, body);
  const text = cleanText(parts.text?.trim() ? parts.text : htmlToText(parts.html ?? "")).trim();
  const id =
    toMailId(header.value("message-id")) ?? `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const [from] = parseAddresses(header.value("from") || header.value("sender"));
  const cut = cutBytes(text, options.maxBytes);
  return {
    id,
    from: from ? toDisplay(from) : "",
    sender: cleanLine(from?.address ?? "").toLowerCase(),
    to: toRecipients(header.values("to")),
    cc: toRecipients(header.values("cc")),
    subject: cleanLine(decodeWords(header.value("subject"))),
    date: toDate(header.value("date"), facts.receivedAt),
    snippet: toSnippet(text),
    body: cut,
    truncated: cut.length < text.length,
    attachments: facts.attachments ?? parts.attachments.map(toAttachment).slice(0, MOST_ATTACHMENTS),
    threadId:
      facts.threadId ?? toMailId(header.value("references")) ?? toMailId(header.value("in-reply-to")) ?? id,
    listId: toListId(header.value("list-id")),
    folder: facts.folder,
    labels: facts.labels,
    authentication: readAuthentication(header, options.authservId),
  };
}

async function readParts(
  content: Buffer,
  body: Buffer,
): Promise<Pick<Email, "text" | "html" | "attachments">> {
  try {
    return await parseMime(Buffer.concat([content, Buffer.from("\r\n"), body]));
  } catch {
    return { text: body.toString("latin1"), attachments: [] };
  }
}

function toRecipients(headers: string[]): string[] {
  return headers.flatMap(parseAddresses).slice(0, MOST_RECIPIENTS).map(toDisplay);
}

function toDisplay({ name, address }: Mailbox): string {
  return cleanLine(name && address ? `${name} <${address}>` : name || address);
}

function toListId(header: string): string {
  return cleanLine(/<([^<>]*)>/.exec(header)?.[1] ?? header);
}

function toAttachment({ filename, mimeType, content }: Attachment): MailAttachment {
  return {
    name: cleanLine(filename ?? ""),
    type: mimeType,
    size: typeof content === "string" ? content.length : content.byteLength,
  };
}
