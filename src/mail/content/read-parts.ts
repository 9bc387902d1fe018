import { isUtf8 } from "node:buffer";
import type { Attachment, Email } from "postal-mime";
import type { MailAttachment } from "../port.ts";
import { cleanText } from "./clean.ts";
import { decodeBytes } from "./decode-bytes.ts";
import { htmlToText } from "./html-to-text.ts";
import { parseMime } from "./mime.ts";
import { readInvite } from "./read-invite.ts";
import { repairText } from "./repair-text.ts";
import { endOfLine } from "./split-header.ts";

/** What a mail is made of. */
export interface MailParts {
  text: string;
  attachments: MailAttachment[];
}

type Parsed = Pick<Email, "text" | "html" | "attachments">;

const MOST_ATTACHMENTS = 100;
/** How much of a mail that cannot be divided is taken for its text. */
const MOST_RAW_BYTES = 1_000_000;
/** More than is asked for of any mail's text. */
const MOST_CHARACTERS = 1_000_000;
/** How far into a body its first boundary is looked for. */
const LOOK_INTO = 65_536;
const END_OF_HEADER = Buffer.from("\r\n");
const NO_CHARACTER = "\ufffd";

/**
 * Reads the body of a mail. `content`: the fields of its header that say how it is encoded. `charset`: that of bytes which say
 * nothing of theirs. Never rejects.
 */
export async function readParts(content: Buffer, body: Buffer, charset: string): Promise<MailParts> {
  const parsed =
    (await parse(content, body, charset)) ?? (await parseUndeclared(body)) ?? salvage(body, charset);
  return {
    text: toText(parsed),
    attachments: parsed.attachments.filter(isAttachment).slice(0, MOST_ATTACHMENTS).map(toAttachment),
  };
}

/** Once more in UTF-8 where something came out unreadable: bytes of some other charset that nobody declared. */
async function parse(content: Buffer, body: Buffer, charset: string): Promise<Parsed | undefined> {
  const first = await parseOnce(content, body);
  if (first === undefined || !isUnreadable(first) || (isUtf8(content) && isUtf8(body))) return first;
  const again = await parseOnce(toUtf8(content, charset), toUtf8(body, charset));
  return again && !isUnreadable(again) ? again : first;
}

/** Undefined where there is nothing in it, or nothing that can be understood. */
async function parseOnce(content: Buffer, body: Buffer): Promise<Parsed | undefined> {
  try {
    const parsed = await parseMime(Buffer.concat([content, END_OF_HEADER, body]));
    const isEmpty = !parsed.text && !parsed.html && parsed.attachments.length === 0;
    return isEmpty ? undefined : parsed;
  } catch {
    return undefined;
  }
}

/** A mail whose header has lost what divides its parts: the first line that looks like a boundary is one. */
async function parseUndeclared(body: Buffer): Promise<Parsed | undefined> {
  const boundary = /^--([\w'()+,./:=?-]{1,70})\r?$/m.exec(body.toString("latin1", 0, LOOK_INTO))?.[1];
  if (boundary === undefined) return undefined;
  return await parseOnce(Buffer.from(`Content-Type: multipart/mixed; boundary="${boundary}"\r\n`), body);
}

/** What is left of the text of a mail that cannot be divided. */
function salvage(body: Buffer, charset: string): Parsed {
  const lines = decodeBytes(body.subarray(0, MOST_RAW_BYTES), charset).split("\n");
  const text = lines.filter((line) => !/^(?:--|content-[a-z-]+:)/i.test(line)).join("\n");
  return { text, attachments: [] };
}

function isUnreadable({ text, html, attachments }: Parsed): boolean {
  return [text, html, ...attachments.map(({ filename }) => filename)].some((part) =>
    part?.includes(NO_CHARACTER),
  );
}

/** Line by line, so that those in UTF-8 stay as they are. */
function toUtf8(bytes: Buffer, charset: string): Buffer {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length; at = endOfLine(bytes, at))
    lines.push(bytes.subarray(at, endOfLine(bytes, at)));
  return Buffer.concat(lines.map((line) => (isUtf8(line) ? line : Buffer.from(decodeBytes(line, charset)))));
}

/** The text as it was written; that of a mail in HTML alone; the events that it invites to. */
function toText({ text, html, attachments }: Parsed): string {
  const written = (text?.trim() ? text : htmlToText(html ?? "")).slice(0, MOST_CHARACTERS);
  const events = attachments
    .filter(({ mimeType }) => mimeType === "text/calendar")
    .slice(0, 1)
    .map(({ content }) => readInvite(toCalendar(content)));
  return [cleanText(repairText(written)).trim(), ...events].filter(Boolean).join("\n\n");
}

function isAttachment({ filename, related, contentId, disposition, mimeType }: Attachment): boolean {
  const isShown =
    related === true ||
    (disposition !== "attachment" && contentId !== undefined && mimeType.startsWith("image/"));
  return Boolean(filename) || !isShown;
}

function toAttachment({ filename, mimeType, content }: Attachment): MailAttachment {
  return {
    name: repairText(filename ?? ""),
    type: mimeType,
    size: typeof content === "string" ? Buffer.byteLength(content) : content.byteLength,
  };
}

function toCalendar(content: Attachment["content"]): string {
  return typeof content === "string" ? content : new TextDecoder().decode(content);
}
