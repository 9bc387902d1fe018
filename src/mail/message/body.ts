import { isUtf8 } from "node:buffer";
import type { Attachment, Email } from "postal-mime";
import type { MailAttachment } from "../../core/ports/mail-source.ts";
import { endOfLine } from "./header.ts";
import { htmlToText } from "../../core/shared/html/html.ts";
import { readInvite } from "./invite.ts";
import { decodeBytes, decodeJapanese, decodeUtf7, parseMime, repairText, withCharset } from "./mime.ts";
import { cleanLine, cleanText } from "./text.ts";

const MAX_ATTACHMENTS = 100;
const MAX_CHARACTERS = 1_000_000;
const SAMPLE_BYTES = 65_536;

/**
 * The parser needs about 2 KB of memory and 25 µs for each line, whatever its length. The sources fetch at most 1 MB of a mail,
 * so only a hostile mail has more lines.
 */
const MAX_LINES = 30_000;

export interface ReadAttachment extends MailAttachment {
  content: Uint8Array;
}

/**
 * Reads the body of a mail. `content`: the header fields that describe its encoding. `charset`: for bytes without a declared
 * charset. Never rejects.
 */
export async function readParts(
  content: Buffer,
  body: Buffer,
  charset: string,
): Promise<{ text: string; attachments: ReadAttachment[] }> {
  const cut = cutLines(body);
  const start = [content, cut].map((bytes) => bytes.toString("latin1", 0, SAMPLE_BYTES)).join("");
  const bounded = /format="?flowed/i.test(start) ? keepQuotes(cut, /quoted-printable/i.test(start)) : cut;
  const read = (await parseBody(content, bounded, charset)) ?? salvage(bounded, charset);
  const parsed = /charset\s*=\s*"?utf-7\b/i.test(start) ? mapTexts(read, decodeUtf7) : read;
  const isAlternative = /multipart\/alternative/i.test(start);
  const { attachments } = parsed;
  const describe = (type: RegExp, toLines: (content: string) => string): string => {
    const part = attachments.find(({ mimeType }) => type.test(mimeType));
    return part ? toLines(decodeContent(part, charset)) : "";
  };
  const status = describe(DELIVERY_STATUS, readDeliveryStatus);
  const other = parsed.text || parsed.html ? undefined : attachments.find(isOtherText);
  const written = toText(other ? { ...parsed, text: decodeContent(other, charset) } : parsed, isAlternative);
  const invite = describe(/^text\/calendar$/, (calendar) => readInvite(calendar, written));
  return {
    text: [written, status, invite].filter(Boolean).join("\n\n"),
    attachments: attachments
      .filter((part) => part !== other && isAttachment(part))
      .slice(0, MAX_ATTACHMENTS)
      .map(toAttachment),
  };
}

type ParsedBody = Pick<Email, "text" | "html" | "attachments">;

/**
 * The plain text if it is an alternative to the HTML and not far shorter, as one that asks for another program; otherwise the
 * HTML, which the library completes with all texts.
 */
function toText({ text = "", html = "" }: ParsedBody, isAlternative: boolean): string {
  const rich = html === "" ? "" : htmlToText(html);
  const isPlain = text.trim() !== "" && isAlternative && lengthOf(rich) <= MAX_RATIO * lengthOf(text);
  const written = ((isPlain ? "" : rich) || text).slice(0, MAX_CHARACTERS);
  return cleanText(repairText(written)).trim();
}

/** How many times as long as the plain text the HTML may be that says the same. */
const MAX_RATIO = 2;

/** In characters, without the addresses of links and blanks. */
function lengthOf(text: string): number {
  return text.replaceAll(/https?:\/\/[^\s\]]+|\s+/g, "").length;
}

/** Images that the HTML shows are not attachments, unless they have a name. */
function isAttachment({ filename, related, contentId, disposition, mimeType }: Attachment): boolean {
  const isInline =
    related === true || (disposition !== "attachment" && contentId !== undefined && mimeType.startsWith("image/"));
  return Boolean(filename) || !isInline;
}

function toAttachment({ filename, mimeType, content: given }: Attachment): ReadAttachment {
  const content = typeof given === "string" ? Buffer.from(given) : new Uint8Array(given);
  return { name: repairText(filename ?? ""), type: mimeType, size: content.length, content };
}

/** Markdown or a patch, for example, which the library takes for an attachment. */
function isOtherText({ mimeType, disposition }: Attachment): boolean {
  return /^text(?:\/(?!calendar$)|$)/.test(mimeType) && disposition !== "attachment";
}

function decodeContent({ content }: Attachment, charset: string): string {
  if (typeof content === "string") return content;
  return decodeBytes(Buffer.from(content instanceof ArrayBuffer ? new Uint8Array(content) : content), charset);
}

/** Parses again as UTF-8, or with the charset that its HTML names, if a text is unreadable because its charset was not declared. */
async function parseBody(content: Buffer, body: Buffer, charset: string): Promise<ParsedBody | undefined> {
  const first = await tryToParse(content, body);
  if (first === undefined || !isUnreadable(first)) return first;
  if (!isUtf8(content) || !isUtf8(body)) {
    const again = await tryToParse(toUtf8(content, charset), toUtf8(body, charset));
    if (again && !isUnreadable(again)) return again;
  }
  const named = META_CHARSET.exec(first.html?.slice(0, SAMPLE_BYTES) ?? "")?.[1] ?? charset;
  const again = await tryToParse(withCharset(content, named), withCharset(body, named));
  return again && !isUnreadable(again) ? again : first;
}

/** `<meta charset="koi8-r">`, or the older form with `http-equiv`. */
const META_CHARSET = /<meta\s[^<>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;

/** undefined: there is no content, or the parser gave up. */
async function tryToParse(content: Buffer, body: Buffer): Promise<ParsedBody | undefined> {
  try {
    const parsed = await parseMime(Buffer.concat([content, Buffer.from("\r\n"), body]));
    if (!parsed.text && !parsed.html && parsed.attachments.length === 0) return undefined;
    return mapTexts(parsed, decodeJapanese);
  } catch {
    return undefined;
  }
}

function mapTexts<Body extends ParsedBody>(parsed: Body, decode: (text: string) => string): Body {
  const { text, html } = parsed;
  return { ...parsed, text: text && decode(text), html: html && decode(html) };
}

/** The text of a mail that cannot be parsed, without its boundaries and part headers. */
function salvage(body: Buffer, charset: string): ParsedBody {
  const lines = decodeBytes(body.subarray(0, MAX_CHARACTERS), charset).split("\n");
  const text = lines.filter((line) => !/^(?:--|content-[a-z-]+:)/i.test(line)).join("\n");
  return { text, attachments: [] };
}

function isUnreadable({ text, html, attachments }: ParsedBody): boolean {
  return [text, html, ...attachments.map(({ filename }) => filename)].some((part) => part?.includes("\ufffd"));
}

/** Line by line, so that lines in UTF-8 stay as they are. */
function toUtf8(bytes: Buffer, charset: string): Buffer {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length; at = endOfLine(bytes, at)) lines.push(bytes.subarray(at, endOfLine(bytes, at)));
  return Buffer.concat(lines.map((line) => (isUtf8(line) ? line : Buffer.from(decodeBytes(line, charset)))));
}

function cutLines(body: Buffer): Buffer {
  let end = 0;
  for (let line = 0; line < MAX_LINES && end < body.length; line += 1) end = endOfLine(body, end);
  return body.subarray(0, end);
}

/**
 * The library joins the lines of flowed text (RFC 3676) without regard to quotes. So the space that asks for it is taken from
 * quoted lines, and from those before them.
 */
function keepQuotes(body: Buffer, isEncoded: boolean): Buffer {
  const lines = body.toString("latin1").split("\n");
  const isQuoted = (line: string | undefined): boolean => line?.startsWith(">") ?? false;
  const kept = lines.map((line, at) =>
    isQuoted(line) || isQuoted(lines[at + 1]) ? trimLineEnd(line, isEncoded) : line,
  );
  return Buffer.from(kept.join("\n"), "latin1");
}

function trimLineEnd(line: string, isEncoded: boolean): string {
  let end = line.length;
  while (end > 0) {
    if (/[ \r]/.test(line.charAt(end - 1))) end -= 1;
    // A space in quoted-printable.
    else if (isEncoded && line.slice(Math.max(0, end - 3), end) === "=20") end -= 3;
    else break;
  }
  return line.slice(0, end);
}

/** The type of the report in a bounce (RFC 3464). */
export const DELIVERY_STATUS = /^message\/(?:global-)?delivery-status$/;
const MAX_STATUS_CHARACTERS = 50_000;
const MAX_RECIPIENTS = 20;

/** Describes a delivery status (RFC 3464), the report that a mail bounced: a line for each recipient. */
function readDeliveryStatus(report: string): string {
  const blocks = report
    .slice(0, MAX_STATUS_CHARACTERS)
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/\n[ \t]+/g, " ")
    .split(/\n{2,}/);
  return blocks
    .map((block) => new Map(block.split("\n").map(toField)))
    .filter((fields) => fields.has("final-recipient"))
    .slice(0, MAX_RECIPIENTS)
    .map((fields) => {
      const values = ["action", "status", "diagnostic-code"].map((name) => fields.get(name)).filter(Boolean);
      return `Delivery to ${fields.get("final-recipient")}: ${values.join(", ")}`;
    })
    .join("\n");
}

/** `Final-Recipient: rfc822; bob@example.com` → `bob@example.com` */
function toField(line: string): [string, string] {
  const colon = line.indexOf(":");
  const value = line.slice(colon + 1).replace(/^\s*(?:rfc822|utf-8|smtp|x-[\w-]+)\s*;/i, "");
  return [line.slice(0, Math.max(0, colon)).trim().toLowerCase(), cleanLine(value)];
}
