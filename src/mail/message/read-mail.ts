import { createHash, hash } from "node:crypto";
import type { FollowOptions, Mail, MailAttachment } from "../../core/ports/mail-source.ts";
import { parseAddresses, toAddresses, toSender } from "./addresses.ts";
import { readAuthentication } from "./authentication.ts";
import { DELIVERY_STATUS, type ReadAttachment, readParts } from "./body.ts";
import { toDate } from "./date.ts";
import { type MailHeader, readHeader, splitHeader, toLines, toMailId, toMessageId, toThreadId } from "./header.ts";
import { decodeWords, guessCharset, repairText } from "./mime.ts";
import { cleanLine, shortenText, toSnippet } from "./text.ts";

/**
 * The facts of a source about a mail besides its bytes. With the thread if the provider names one, and the attachments if the
 * bytes do not contain them.
 */
export interface MailFacts extends Pick<Mail, "folder" | "labels">, Partial<Pick<Mail, "threadId" | "attachments">> {
  /** In bytes, if the server says so. */
  size?: number;
  /** When the server received the mail, in milliseconds since the epoch. */
  receivedAt: number;
}

export type ReadOptions = Pick<FollowOptions, "maxBytes"> & Partial<Pick<FollowOptions, "authservId">>;

const MAX_RECIPIENTS = 100;

/** Reads a mail from its raw bytes (RFC 5322), which may be cut. Never rejects: of a broken mail it reads what it can. */
export async function readMail(source: Uint8Array, facts: MailFacts, options: ReadOptions): Promise<Mail> {
  return (await readWholeMail(source, facts, options)).mail;
}

/** The mail, and the files that its bytes contain. */
export async function readWholeMail(
  source: Uint8Array,
  facts: MailFacts,
  options: ReadOptions,
): Promise<{ mail: Mail; files: ReadAttachment[] }> {
  const bytes = toLines(Buffer.from(source.buffer, source.byteOffset, source.byteLength));
  const charset = guessCharset(bytes);
  const { block, body } = splitHeader(bytes);
  const header = readHeader(block, charset);
  const parts = await readParts(header.content, body, charset);
  const [author = ""] = toPeople([...header.values("from"), ...header.values("sender")], 1);
  const messageId = toMessageId(header.value("message-id")) ?? "";
  const { size = 0, attachments: listed = [] } = facts;
  const id = toMailId({ header, body, size, attachments: listed }) ?? `sha256:${hash("sha256", source)}`;
  const text = shortenText(parts.text, options.maxBytes);
  // The mail that began the thread.
  const first = toMessageId(header.value("references")) ?? toMessageId(header.value("in-reply-to"));
  const mail = {
    id,
    messageId,
    from: author,
    sender: toSender(header.values(header.value("from") ? "from" : "sender")),
    replyTo: toPeople(header.values("reply-to"), MAX_RECIPIENTS),
    replyAddress: toSender(header.values("reply-to")),
    participants: toAddresses(
      ["from", "reply-to", "to", "cc"].flatMap((name) => header.values(name)),
      MAX_RECIPIENTS,
    ),
    to: toPeople(header.values("to"), MAX_RECIPIENTS),
    cc: toPeople(header.values("cc"), MAX_RECIPIENTS),
    subject: cleanLine(repairText(decodeWords(header.value("subject")))),
    date: toDate(header.value("date"), facts.receivedAt),
    snippet: toSnippet(parts.text),
    body: text,
    truncated: text !== parts.text,
    attachments: (facts.attachments ?? parts.attachments).map((attachment) => toAttachment(attachment)),
    threadId: facts.threadId ?? toThreadId(first ?? (messageId || id)),
    references: readReferences(header),
    listId: toListId(header.value("list-id")),
    ...findAutomatic(header),
    folder: facts.folder,
    labels: facts.labels,
    authentication: readAuthentication(
      { results: header.values("authentication-results"), receivedSpf: header.value("received-spf") },
      options.authservId,
    ),
  };
  return { mail, files: parts.attachments };
}

/** The bytes of an attachment, by its place in the list of a mail that was read whole. */
export async function readAttachment(source: Uint8Array, index: number): Promise<Uint8Array | undefined> {
  const bytes = toLines(Buffer.from(source.buffer, source.byteOffset, source.byteLength));
  const charset = guessCharset(bytes);
  const { block, body } = splitHeader(bytes);
  const { attachments } = await readParts(readHeader(block, charset).content, body, charset);
  return attachments[index]?.content;
}

const LINE_END = Buffer.from("\r\n");

/**
 * Builds a mail from its header block and the texts that were fetched, for `readMail`. Each entity is a part's own header lines,
 * an empty line and its encoded body; the last one may be cut.
 */
export function assembleMail(header: Uint8Array, entities: Uint8Array[]): Uint8Array {
  const { block } = splitHeader(Buffer.from(header));
  // A multipart mail without parts would show its boundary as text.
  if (entities.length === 0) return Buffer.concat([Buffer.from("Content-Type: text/plain\r\n"), block, LINE_END]);
  const digest = createHash("sha256");
  for (const entity of entities) digest.update(entity);
  // No part can contain its own digest.
  const boundary = `hookline-${digest.digest("hex")}`;
  // The first of several fields counts: the mail's own Content-Type is about parts that are missing here.
  const first = Buffer.from(`Content-Type: multipart/mixed; boundary="${boundary}"\r\n`);
  const between = Buffer.from(`\r\n--${boundary}\r\n`);
  const last = Buffer.from(`\r\n--${boundary}--\r\n`);
  return Buffer.concat([first, block, LINE_END, ...entities.flatMap((entity) => [between, entity]), last]);
}

/** The first people in the values of an address header, including the members of groups: `Ann Lee <ann@example.com>`. */
export function toPeople(headers: string[], max: number): string[] {
  const people: string[] = [];
  for (const header of headers) {
    if (people.length >= max) break;
    const mailboxes = parseAddresses(header).slice(0, max - people.length);
    people.push(...mailboxes.map(toPerson));
  }
  return people.filter(Boolean);
}

function toPerson(mailbox: { name: string; address: string }): string {
  const address = cleanLine(mailbox.address);
  const name = cleanLine(repairText(mailbox.name));
  return cleanLine(name && address ? `${quote(name)} <${address}>` : name || address);
}

/** See RFC 3834, section 2: what may not be answered by a program. */
function findAutomatic(header: MailHeader): Pick<Mail, "automatic"> {
  const reasons: [name: string, isReason: (value: string) => boolean][] = [
    ["Auto-Submitted", (value) => !/^no\b/i.test(value)],
    ["Precedence", (value) => /^(?:bulk|junk|list|auto_reply)\b/i.test(value)],
    ["List-Id", () => true],
    // A bounce, a receipt or a complaint.
    ["Content-Type", (value) => /^multipart\/report\b/i.test(value)],
    // A mail that says where no bounce may go is a bounce.
    ["Return-Path", (value) => /^<\s*>$/.test(value)],
    ["X-AutoReply-From", () => true],
    ["X-Mail-Autoreply", () => true],
    ["X-Autogenerated", () => true],
    ["X-Auto-Generated", () => true],
    ["X-POST-MessageClass", (value) => /autorespon/i.test(value)],
    ["X-Autoreply", () => true],
    ["X-Autorespond", () => true],
    ["From", (value) => /\b(?:mailer-daemon|postmaster)@/i.test(value)],
  ];
  for (const [name, isReason] of reasons) {
    const value = header.values(name.toLowerCase()).find((found) => found && isReason(found));
    if (value) return { automatic: cleanLine(`${name}: ${value}`, MAX_REASON) };
  }
  return {};
}

const MAX_REASON = 100;

/** RFC 5322: the ids of References, or the one of In-Reply-To if there is just one. Some programs leave out its brackets. */
function readReferences({ value }: MailHeader): string[] | undefined {
  const found = [value("references"), value("in-reply-to")].map(
    (field) => field.match(/(?<=<)[^<>\s]+(?=>)|^[^<>\s]+$/g) ?? [],
  );
  const [references = [], answered = []] = found;
  if (references.length > 0) return references;
  return answered.length === 1 ? answered : undefined;
}

/** Quotes a name that contains an address or could look like two: `"boss@example.com" <else@example.net>`. */
function quote(name: string): string {
  return /[<>@,;:"]/.test(name) ? `"${name.replaceAll('"', "'")}"` : name;
}

/** `Example announcements <announce.example.org>` → `announce.example.org` */
function toListId(header: string): string {
  return cleanLine(/<([^<>]*)>/.exec(header)?.[1] ?? header);
}

/** A part of a mail, as a server describes it without its content. Its type is in lower case, and its name may be empty. */
export interface MailPart<Node> extends MailAttachment {
  isAttached: boolean;
  hasContentId: boolean;
  /** The parts of a multipart, and the one of a mail in the mail. */
  children: Node[];
}

const MAX_DEPTH = 20;
const MAX_TEXTS = 5;
const MAX_ATTACHMENTS = 100;
const MAX_NAME_LENGTH = 255;
/** A plain text this many times smaller than the HTML says only that there is HTML. */
const MAX_SIZE_RATIO = 100;

/** Picks the texts that are worth reading from a mail that is too large to be fetched whole, and lists its attachments. */
export function pickParts<Node>(
  root: Node,
  describe: (node: Node) => MailPart<Node>,
): { texts: Node[]; attachments: MailAttachment[] } {
  const leaves = toLeaves(root, 0);
  const texts = leaves.filter(({ part }) => isText(part) && part.size > 0);
  const first = (type: RegExp): typeof leaves => leaves.filter(({ part }) => type.test(part.type)).slice(0, 1);
  const described = [...first(DELIVERY_STATUS), ...first(/^text\/calendar$/)];
  return {
    texts: [...texts.slice(0, MAX_TEXTS - described.length), ...described].map(({ node }) => node),
    attachments: leaves
      .filter(({ part }) => isAttachment(part))
      .slice(0, MAX_ATTACHMENTS)
      .map(({ part }) => toAttachment(part, MAX_NAME_LENGTH)),
  };

  function toLeaves(node: Node, depth: number): { node: Node; part: MailPart<Node> }[] {
    const part = describe(node);
    const isMultipart = part.type.startsWith("multipart/");
    if (!isMultipart && (part.type !== "message/rfc822" || part.isAttached)) return [{ node, part }];
    if (depth === MAX_DEPTH) return [];
    const inner = part.children.flatMap((child) => toLeaves(child, depth + 1));
    // A mail that is forwarded counts as an attachment, and its texts are read.
    if (!isMultipart) return [{ node, part }, ...inner.filter((leaf) => isText(leaf.part))];
    if (part.type !== "multipart/alternative") return inner;
    const sizeOf = (type: string): number =>
      Math.max(0, ...inner.filter((leaf) => isText(leaf.part, type)).map((leaf) => leaf.part.size));
    const plain = sizeOf("text/plain");
    if (plain === 0) return inner;
    const left = sizeOf("text/html") > MAX_SIZE_RATIO * plain ? "text/plain" : "text/html";
    return inner.filter((leaf) => !isText(leaf.part, left));
  }
}

function isText({ type, isAttached }: MailPart<unknown>, ...types: string[]): boolean {
  return !isAttached && (types.length > 0 ? types : ["text/plain", "text/html"]).includes(type);
}

/** An image that the HTML shows counts only if it has a name. */
function isAttachment(part: MailPart<unknown>): boolean {
  const isShown = part.hasContentId && !part.isAttached && part.type.startsWith("image/");
  return !isText(part) && (part.name !== "" || !isShown);
}

function toAttachment({ name, type, size, id }: MailAttachment, maxLength?: number): MailAttachment {
  const described = { name: cleanLine(name, maxLength), type: cleanLine(type, maxLength), size };
  return id === undefined ? described : { ...described, id };
}
