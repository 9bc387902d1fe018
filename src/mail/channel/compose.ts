import type { SendMailOptions } from "nodemailer";
import { hash } from "node:crypto";
import { cutText } from "../../core/shared/text/text.ts";
import type { OutgoingMessage } from "../../core/ports/channel.ts";
import { MAIL } from "../../vendors/kit/text/dialects.ts";
import { renderMarkdown } from "../../vendors/kit/text/markdown.ts";

/** An address in a mail's header: without quotes, since programs disagree about those. */
export const ADDRESS = /^[^\s\p{C}@<>()[\]:;,"\\]{1,254}@[\p{L}\p{M}\p{N}.-]{1,254}$/u;

/** A recipient: `ada@example.com <first@id> <last@id> Subject`. */
export interface MailRecipient {
  address: string;
  /** The mails before it, with the one that is answered last. */
  references: string[];
  subject: string;
}

const ID = /^<[\x21-\x3B=\x3F-\x7E]{1,250}@[\x21-\x3B=\x3F-\x7E]{1,250}>$/;

/** Invalid ids, such as Gmail's own or a shortened one, are left out: then the answer does not belong to the thread. */
export function parseRecipient(to: string): MailRecipient {
  const [address = "", ...words] = to.split(" ");
  const end = words.findIndex((word) => !word.startsWith("<"));
  const ids = end === -1 ? words : words.slice(0, end);
  const subject = end === -1 ? "" : words.slice(end).join(" ");
  return { address, references: toIds(ids), subject };
}

function toIds(ids: string[]): string[] {
  return [...new Set(ids.filter((id) => ID.test(id)))];
}

/** Without angle brackets. */
export function toMessageId(idempotencyKey: string, from: string): string {
  return `${hash("sha256", idempotencyKey).slice(0, 40)}@${from.slice(from.indexOf("@") + 1)}`;
}

const MAX_SUBJECT = 200;

export async function composeMail(
  { to, text, format, references: given = [] }: OutgoingMessage,
  { from, fromName = "", messageId }: { from: string; fromName?: string; messageId: string },
): Promise<SendMailOptions> {
  const { address, references: named, subject } = parseRecipient(to);
  const known = toIds(given);
  const references = known.length > 0 ? known : named;
  return {
    from: { name: fromName, address: from },
    to: { name: "", address },
    subject: toSubject(subject, { text, isAnswer: references.length > 0 }),
    messageId: `<${messageId}>`,
    inReplyTo: references.at(-1),
    references,
    headers: {
      // RFC 3834: other programs do not answer it.
      "Auto-Submitted": references.length > 0 ? "auto-replied" : "auto-generated",
      "X-Auto-Response-Suppress": "All",
    },
    text,
    html:
      format === "markdown"
        ? `<!doctype html><html><body>${await renderMarkdown(text, MAIL)}</body></html>`
        : undefined,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** That of the answered mail, or the text's first line. */
function toSubject(subject: string, { text, isAnswer }: { text: string; isAnswer: boolean }): string {
  const line = (subject || text.trim().split("\n", 1)[0] || "").replaceAll(/[\s\p{C}]+/gu, " ").trim();
  const short = cutText(line, MAX_SUBJECT);
  return isAnswer && !/^re:/i.test(short) ? `Re: ${short}` : short;
}
