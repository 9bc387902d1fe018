import { isUtf8 } from "node:buffer";
import type { Attachment, Email } from "postal-mime";
import type { MailAttachment } from "../../core/ports/mail-source.ts";
import { endOfLine } from "./header.ts";
import { htmlToText } from "./html.ts";
import { decodeBytes, parseMime, repairText } from "./mime.ts";
import { cleanLine, cleanText } from "./text.ts";

const MAX_ATTACHMENTS = 100;
const MAX_CHARACTERS = 1_000_000;
const SAMPLE_BYTES = 65_536;

/**
 * The parser needs about 2 KB of memory and 25 µs for each line, whatever its length. The sources fetch at most 1 MB of a mail,
 * so only a hostile mail has more lines.
 */
const MAX_LINES = 30_000;

/**
 * Reads the body of a mail. `content`: the header fields that describe its encoding. `charset`: for bytes without a declared
 * charset. Never rejects.
 */
export async function readParts(
  content: Buffer,
  body: Buffer,
  charset: string,
): Promise<{ text: string; attachments: MailAttachment[] }> {
  const cut = cutLines(body);
  const start = [content, cut].map((bytes) => bytes.toString("latin1", 0, SAMPLE_BYTES)).join("");
  const bounded = /format="?flowed/i.test(start) ? keepQuotes(cut, /quoted-printable/i.test(start)) : cut;
  const parsed = (await parseBody(content, bounded, charset)) ?? salvage(bounded, charset);
  const isAlternative = /multipart\/alternative/i.test(start);
  const { attachments } = parsed;
  const describe = (type: RegExp, read: (content: string) => string): string => {
    const part = attachments.find(({ mimeType }) => type.test(mimeType));
    return part ? read(decodeContent(part, charset)) : "";
  };
  const status = describe(DELIVERY_STATUS, readDeliveryStatus);
  const invite = describe(/^text\/calendar$/, readInvite);
  const other = parsed.text || parsed.html ? undefined : attachments.find(isOtherText);
  const written = other ? { ...parsed, text: decodeContent(other, charset) } : parsed;
  return {
    text: [toText(written, isAlternative), status, invite].filter(Boolean).join("\n\n"),
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

function toAttachment({ filename, mimeType, content }: Attachment): MailAttachment {
  const size = typeof content === "string" ? Buffer.byteLength(content) : content.byteLength;
  return { name: repairText(filename ?? ""), type: mimeType, size };
}

/** Markdown or a patch, for example, which the library takes for an attachment. */
function isOtherText({ mimeType, disposition }: Attachment): boolean {
  return /^text(?:\/(?!calendar$)|$)/.test(mimeType) && disposition !== "attachment";
}

function decodeContent({ content }: Attachment, charset: string): string {
  if (typeof content === "string") return content;
  return decodeBytes(Buffer.from(content instanceof ArrayBuffer ? new Uint8Array(content) : content), charset);
}

/** Parses again as UTF-8 if a text is unreadable because its charset was not declared. */
async function parseBody(content: Buffer, body: Buffer, charset: string): Promise<ParsedBody | undefined> {
  const first = await tryToParse(content, body);
  if (first === undefined || !isUnreadable(first) || (isUtf8(content) && isUtf8(body))) return first;
  const again = await tryToParse(toUtf8(content, charset), toUtf8(body, charset));
  return again && !isUnreadable(again) ? again : first;
}

/** undefined: there is no content, or the parser gave up. */
async function tryToParse(content: Buffer, body: Buffer): Promise<ParsedBody | undefined> {
  try {
    const parsed = await parseMime(Buffer.concat([content, Buffer.from("\r\n"), body]));
    return parsed.text || parsed.html || parsed.attachments.length > 0 ? parsed : undefined;
  } catch {
    return undefined;
  }
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

const MAX_CALENDAR_CHARACTERS = 200_000;
const MAX_ATTENDEES = 20;
const PROPERTIES = [
  ["SUMMARY", "What"],
  ["DTSTART", "Begins"],
  ["DTEND", "Ends"],
  ["RRULE", "Repeats"],
  ["LOCATION", "Where"],
  ["ORGANIZER", "Organizer"],
  ["STATUS", "Status"],
  ["UID", "UID"],
] as const;

/** Where programs write the address of a video call; `URL` may be any page. */
const JOIN_PROPERTIES = ["CONFERENCE", "X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "URL"];
const JOIN_LINK =
  /https:\/\/(?:meet\.google\.com|[\w-]+\.zoom\.us\/j|teams\.(?:microsoft|live)\.com\/(?:l\/meetup-join|meet)|[\w-]+\.webex\.com)[^\s<>"\\]{0,1000}/i;

/**
 * Describes a calendar's first event (RFC 5545) in lines of text; empty if it has none. Reads what it can of a calendar that is
 * cut or broken, which the libraries refuse.
 */
export function readInvite(calendar: string): string {
  const lines = calendar
    .slice(0, MAX_CALENDAR_CHARACTERS)
    .replaceAll(/\r?\n[ \t]/g, "")
    .split(/\r?\n/);
  const begin = lines.indexOf("BEGIN:VEVENT");
  if (begin < 0) return "";
  const end = lines.indexOf("END:VEVENT", begin);
  const event = lines.slice(begin, end < 0 ? undefined : end);
  const [method = ""] = readProperties("METHOD", lines);
  const shown = PROPERTIES.map(([name, title]) => [title, readProperties(name, event)[0]]);
  const described = [...shown, ["Join", findJoinLink(event)], ["Attendees", listAttendees(event)]];
  const details = described.filter(([, value]) => value).map((pair) => pair.join(": "));
  return [`Calendar event${method && ` (${method.toLowerCase()})`}`, ...details].join("\n");
}

function findJoinLink(event: string[]): string {
  const named = JOIN_PROPERTIES.flatMap((name) => readProperties(name, event)).find((value) => /^https?:/i.test(value));
  return named ?? JOIN_LINK.exec(event.join("\n"))?.[0] ?? "";
}

function listAttendees(event: string[]): string {
  const attendees = readProperties("ATTENDEE", event);
  const more = attendees.length - MAX_ATTENDEES;
  return attendees.slice(0, MAX_ATTENDEES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** `DTSTART;TZID=Europe/Berlin:20261124T100000` → `2026-11-24 10:00 (Europe/Berlin)` */
function readProperties(name: string, lines: string[]): string[] {
  const found = lines.filter((line) => line.startsWith(`${name}:`) || line.startsWith(`${name};`));
  return found.map((line) => {
    const [, parameters = "", value = ""] = /^[\w-]+((?:;[^:;"]*(?:"[^"]*")?)*):(.*)$/.exec(line) ?? [];
    const notes = Array.from(parameters.matchAll(/;(?:TZID|CN|PARTSTAT)=("[^"]*"|[^;]*)/g), ([, note = ""]) => note);
    const readable = value
      .replace(/^mailto:/i, "")
      .replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)\d\d/, "$1-$2-$3 $4:$5 ")
      .replaceAll(/\\n/gi, " ")
      .replaceAll(/\\([,;\\])/g, "$1");
    const note = notes.map((text) => text.replaceAll('"', "").replace(/^[A-Z-]+$/, (state) => state.toLowerCase()));
    return cleanLine(note.length > 0 ? `${readable} (${note.join(", ")})` : readable);
  });
}
