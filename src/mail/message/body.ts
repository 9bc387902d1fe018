import { isUtf8 } from "node:buffer";
import type { Attachment, Email } from "postal-mime";
import type { MailAttachment } from "../source.ts";
import { endOfLine } from "./header.ts";
import { readInvite } from "./invite.ts";
import { decodeBytes, decodeUtf7, isUtf7, parseMime, repairText } from "./mime.ts";
import { cleanText, htmlToText } from "./text.ts";

/** What a mail is made of. */
export interface MailParts {
  text: string;
  attachments: MailAttachment[];
}

const MAX_ATTACHMENTS = 100;
/** More than is asked for of any mail's text. */
const MAX_CHARACTERS = 1_000_000;
/** How far into a mail one looks for what tells its form. */
const LOOK_INTO = 65_536;

/**
 * Reads the body of a mail. `content`: the fields of its header that say how it is encoded. `charset`: that of bytes which say
 * nothing of theirs. Never rejects.
 */
export async function readParts(content: Buffer, body: Buffer, charset: string): Promise<MailParts> {
  const parsed = await parseBody(content, body, charset);
  const form = [content, body].map((bytes) => bytes.toString("latin1", 0, LOOK_INTO)).join("");
  return {
    text: [toText(parsed, form), toEvent(parsed)].filter(Boolean).join("\n\n"),
    attachments: parsed.attachments.filter(isAttachment).slice(0, MAX_ATTACHMENTS).map(toAttachment),
  };
}

/**
 * The plain text, unless it does not stand for the HTML: then each is one piece of the mail, or the plain one is empty. `form`:
 * what is said of the parts.
 */
function toText({ text = "", html = "" }: ParsedBody, form: string): string {
  const isPlain = html === "" || (text.trim() !== "" && /multipart\/alternative/i.test(form));
  const written = ((isPlain ? "" : htmlToText(html)) || text).slice(0, MAX_CHARACTERS);
  return cleanText(isUtf7(form) ? decodeUtf7(written) : repairText(written)).trim();
}

/** What a calendar among the parts invites to. */
function toEvent({ attachments }: ParsedBody): string {
  const calendar = attachments.find(({ mimeType }) => mimeType === "text/calendar");
  return calendar ? readInvite(toCalendar(calendar.content)) : "";
}

function isAttachment({ filename, related, contentId, disposition, mimeType }: Attachment): boolean {
  const isShown =
    related === true || (disposition !== "attachment" && contentId !== undefined && mimeType.startsWith("image/"));
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

type ParsedBody = Pick<Email, "text" | "html" | "attachments">;

/** How much of a mail that cannot be divided is taken for its text. */
const MAX_RAW_BYTES = 1_000_000;
/** How far into a body its first boundary is looked for. */
const SAMPLE_BYTES = 65_536;
const END_OF_HEADER = Buffer.from("\r\n");
const NO_CHARACTER = "\ufffd";

/**
 * Divides the body of a mail, as its header says or, where that says too little, as it looks. `content`: the fields of the header that
 * say how the body is encoded. `charset`: that of bytes which say nothing of theirs. Never rejects.
 */
async function parseBody(content: Buffer, body: Buffer, charset: string): Promise<ParsedBody> {
  return (await parseDeclared(content, body, charset)) ?? (await parseUndeclared(body)) ?? salvage(body, charset);
}

/** Once more in UTF-8 where something came out unreadable: bytes of some other charset that nobody declared. */
async function parseDeclared(content: Buffer, body: Buffer, charset: string): Promise<ParsedBody | undefined> {
  const first = await parseOnce(content, body);
  if (first === undefined || !isUnreadable(first) || (isUtf8(content) && isUtf8(body))) return first;
  const again = await parseOnce(toUtf8(content, charset), toUtf8(body, charset));
  return again && !isUnreadable(again) ? again : first;
}

/** Undefined where there is nothing in it, or nothing that can be understood. */
async function parseOnce(content: Buffer, body: Buffer): Promise<ParsedBody | undefined> {
  try {
    const parsed = await parseMime(Buffer.concat([content, END_OF_HEADER, body]));
    const isEmpty = !parsed.text && !parsed.html && parsed.attachments.length === 0;
    return isEmpty ? undefined : parsed;
  } catch {
    return undefined;
  }
}

/** A mail whose header has lost what divides its parts: the first line that looks like a boundary is one. */
async function parseUndeclared(body: Buffer): Promise<ParsedBody | undefined> {
  const boundary = /^--([\w'()+,./:=?-]{1,70})\r?$/m.exec(body.toString("latin1", 0, SAMPLE_BYTES))?.[1];
  if (boundary === undefined) return undefined;
  return await parseOnce(Buffer.from(`Content-Type: multipart/mixed; boundary="${boundary}"\r\n`), body);
}

/** What is left of the text of a mail that cannot be divided. */
function salvage(body: Buffer, charset: string): ParsedBody {
  const lines = decodeBytes(body.subarray(0, MAX_RAW_BYTES), charset).split("\n");
  const text = lines.filter((line) => !/^(?:--|content-[a-z-]+:)/i.test(line)).join("\n");
  return { text, attachments: [] };
}

function isUnreadable({ text, html, attachments }: ParsedBody): boolean {
  return [text, html, ...attachments.map(({ filename }) => filename)].some((part) => part?.includes(NO_CHARACTER));
}

/** Line by line, so that those in UTF-8 stay as they are. */
function toUtf8(bytes: Buffer, charset: string): Buffer {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length; at = endOfLine(bytes, at)) lines.push(bytes.subarray(at, endOfLine(bytes, at)));
  return Buffer.concat(lines.map((line) => (isUtf8(line) ? line : Buffer.from(decodeBytes(line, charset)))));
}

const LF = 0x0a;
const CR = 0x0d;
const LINE_END = Buffer.from("\n");

/** Larger mails are rare, and what they hold is attached to them. */
const MAX_BYTES = 32 * 1024 * 1024;
/** So many lines of a mail are left as they are. */
const FREE_LINES = 20_000;
/** Past them, so many at the beginning of each part: its header, and more. */
const FREE_LINES_OF_A_PART = 30;
/** Past them, so many parts. */
const MAX_PARTS = 1000;

/**
 * The body of a mail as the parser can take it: a line costs it some two kilobytes, whatever stands in it. Of very many lines the
 * later ones are joined to long ones; base64 does not mind, and in a text nobody reads that far.
 */
export function boundBody(body: Buffer): Buffer {
  const bounded = body.subarray(0, MAX_BYTES);
  const free = endOfLines(bounded, FREE_LINES);
  if (free === bounded.length) return bounded;
  const pieces = toParts(bounded.subarray(free)).flatMap(joinLines);
  return Buffer.concat([bounded.subarray(0, free), ...pieces]);
}

/** Stretches that each begin with what may be a boundary, the first one aside; what comes after the last one is left out. */
function toParts(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length && parts.length < MAX_PARTS;) {
    const next = bytes.indexOf("\n--", from);
    const end = next < 0 ? bytes.length : next + 1;
    parts.push(bytes.subarray(from, end));
    from = end;
  }
  return parts;
}

function joinLines(part: Buffer): Buffer[] {
  const free = endOfLines(part, FREE_LINES_OF_A_PART);
  if (free === part.length) return [part];
  return [part.subarray(0, free), withoutBreaks(part.subarray(free)), LINE_END];
}

function withoutBreaks(bytes: Buffer): Buffer {
  const joined = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (const byte of bytes) if (byte !== LF && byte !== CR) joined[length++] = byte;
  return joined.subarray(0, length);
}

/** Where so many lines end. */
function endOfLines(bytes: Buffer, count: number): number {
  let end = 0;
  for (let line = 0; line < count && end < bytes.length; line++) {
    const next = bytes.indexOf(LF, end);
    end = next < 0 ? bytes.length : next + 1;
  }
  return end;
}
