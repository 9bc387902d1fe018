import { createHash } from "node:crypto";
import type { Mail, MailAttachment } from "../source.ts";
import { readAuthentication } from "./authentication.ts";
import { boundBody, readParts } from "./body.ts";
import { readHeader, splitHeader } from "./header.ts";
import { decodeWords, guessCharset, parseAddresses, repairText } from "./mime.ts";
import { cleanLine, cutBytes, toSnippet } from "./text.ts";

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

const MAX_RECIPIENTS = 100;

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
    threadId: facts.threadId ?? toMailId(header.value("references")) ?? toMailId(header.value("in-reply-to")) ?? id,
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
  return toPeople(headers, MAX_RECIPIENTS).map(({ display }) => display);
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

const LINE_END = Buffer.from("\r\n");

/**
 * The bytes of a mail that was fetched in pieces: its header block, with the texts that are worth reading as its only parts.
 * Each entity is a part's own header lines, an empty line and its body as it travels; the last may be cut. What `readMail` takes.
 */
export function assembleMail(header: Uint8Array, entities: Uint8Array[]): Uint8Array {
  const { block } = splitHeader(Buffer.from(header));
  // Without a part the boundary itself would be read as a text.
  if (entities.length === 0) return Buffer.concat([Buffer.from("Content-Type: text/plain\r\n"), block, LINE_END]);
  const boundary = toBoundary(entities);
  // It stands first, since the first of several counts: the mail's own speaks of parts that are not here.
  const first = Buffer.from(`Content-Type: multipart/mixed; boundary="${boundary}"\r\n`);
  const between = Buffer.from(`\r\n--${boundary}\r\n`);
  const last = Buffer.from(`\r\n--${boundary}--\r\n`);
  return Buffer.concat([first, block, LINE_END, ...entities.flatMap((entity) => [between, entity]), last]);
}

/** The same for the same parts, and nothing that a part could hold: it would have to know its own digest. */
function toBoundary(entities: Uint8Array[]): string {
  const digest = createHash("sha256");
  for (const entity of entities) digest.update(entity);
  return `hookline-${digest.digest("hex")}`;
}

const MAX_CHARACTERS = 512;

/** A Message-ID header's value as `Mail.id` holds it; undefined where it holds none. */
export function toMailId(header: string | undefined): string | undefined {
  const value = cleanLine(header ?? "");
  const id = /<([^<>\s]+)>/.exec(value)?.[1] ?? value.replaceAll(/[<>]/g, "").trim();
  return id ? cleanLine(id, MAX_CHARACTERS) : undefined;
}

const DAY_MS = 86_400_000;

/** When a mail was written as its Date header says, if it can be; else when it was received. Both ISO 8601. */
export function toDate(header: string, receivedAt: number): string {
  const written = parseDate(header);
  const isSane = written >= 0 && written <= receivedAt + DAY_MS;
  return new Date(isSane ? written : receivedAt).toISOString();
}

/** Milliseconds since the epoch, NaN for what is no date. A zone that nobody knows, or none, counts as UTC. */
function parseDate(header: string): number {
  const date = header
    .slice(0, 200)
    .replaceAll(/\([^()]*\)/g, " ")
    .trim();
  // What follows takes all sorts of things for a date, a bare number among them.
  if (!/\d:\d\d/.test(date)) return Number.NaN;
  const zoned = /(?:[+-]\d{4}|[a-z])$/i.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(zoned) ? Date.parse(`${date.replace(/[a-z]+$/i, "")} +0000`) : zoned;
}

export interface Person {
  /** As a person reads it: `Ann Lee <ann@example.com>`. */
  display: string;
  /** In lower case; empty where there is a name alone. */
  address: string;
}

/** The first people that the values of an address header name, those of its groups among them. */
export function toPeople(headers: string[], most: number): Person[] {
  const people: Person[] = [];
  for (const header of headers) {
    if (people.length >= most) break;
    people.push(
      ...parseAddresses(header)
        .slice(0, most - people.length)
        .map(toPerson),
    );
  }
  return people.filter(({ display }) => display);
}

function toPerson(mailbox: { name: string; address: string }): Person {
  const address = cleanLine(mailbox.address);
  const name = cleanLine(repairText(mailbox.name));
  return {
    display: cleanLine(name && address ? `${quote(name)} <${address}>` : name || address),
    address: address.toLowerCase(),
  };
}

/** A name that holds an address, or could be taken for two, stands in quotes: `"boss@example.com" <else@example.net>`. */
function quote(name: string): string {
  return /[<>@,;:"]/.test(name) ? `"${name.replaceAll('"', "'")}"` : name;
}
