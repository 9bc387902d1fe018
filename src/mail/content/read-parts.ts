import type { Attachment } from "postal-mime";
import type { MailAttachment } from "../port.ts";
import { cleanText } from "./clean.ts";
import { decodeUtf7, isUtf7 } from "./decode-utf7.ts";
import { htmlToText } from "./html-to-text.ts";
import { parseBody, type ParsedBody } from "./parse-body.ts";
import { readInvite } from "./read-invite.ts";
import { repairText } from "./repair-text.ts";

/** What a mail is made of. */
export interface MailParts {
  text: string;
  attachments: MailAttachment[];
}

const MOST_ATTACHMENTS = 100;
/** More than is asked for of any mail's text. */
const MOST_CHARACTERS = 1_000_000;
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
    attachments: parsed.attachments.filter(isAttachment).slice(0, MOST_ATTACHMENTS).map(toAttachment),
  };
}

/**
 * The plain text, unless it does not stand for the HTML: then each is one piece of the mail, or the plain one is empty. `form`:
 * what is said of the parts.
 */
function toText({ text = "", html = "" }: ParsedBody, form: string): string {
  const isPlain = html === "" || (text.trim() !== "" && /multipart\/alternative/i.test(form));
  const written = ((isPlain ? "" : htmlToText(html)) || text).slice(0, MOST_CHARACTERS);
  return cleanText(isUtf7(form) ? decodeUtf7(written) : repairText(written)).trim();
}

/** What a calendar among the parts invites to. */
function toEvent({ attachments }: ParsedBody): string {
  const calendar = attachments.find(({ mimeType }) => mimeType === "text/calendar");
  return calendar ? readInvite(toCalendar(calendar.content)) : "";
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
