import type { SendMailOptions } from "nodemailer";
import { hash } from "node:crypto";
import { cutText } from "../../core/shared/text/text.ts";
import type { OutgoingMessage } from "../../core/ports/channel.ts";
import { MAIL } from "../../vendors/kit/text/dialects.ts";
import { renderMarkdown } from "../../vendors/kit/text/markdown.ts";

/** An address in a mail's header: without quotes, since programs disagree about those. */
export const ADDRESS = /^[^\s\p{C}@<>()[\]:;,"\\]{1,254}@[\p{L}\p{M}\p{N}.-]{1,254}$/u;

/** A recipient: `ada@example.com`, or with a subject `ada@example.com Disk full`. */
export function parseRecipient(to: string): { address: string; subject: string } {
  const [address = "", ...words] = to.split(" ");
  return { address, subject: words.join(" ") };
}

/** A line of a header has at most 998 bytes, and an id cannot be folded. Many programs write ids without `@`. */
const ID = /^<[\x21-\x3B=\x3F-\x7E]{1,980}>$/;

/** Invalid ids are left out. */
function toIds(ids: string[]): string[] {
  return [...new Set(ids.filter((id) => ID.test(id)))];
}

/** Without angle brackets. */
export function toMessageId(idempotencyKey: string, from: string): string {
  return `${hash("sha256", idempotencyKey).slice(0, 40)}@${from.slice(from.indexOf("@") + 1)}`;
}

/** A thread is named by its first mail: the id in angle brackets, and after a blank the subject. */
export function toThread({ messageId, subject }: SendMailOptions): string {
  return `${String(messageId)} ${subject ?? ""}`.trim();
}

/** A message in a thread answers the first mail of it. */
export function inThread(message: OutgoingMessage): OutgoingMessage {
  const [id, ...words] = message.thread?.to?.split(" ") ?? [];
  return id === undefined ? message : { ...message, references: [id], subject: words.join(" ") };
}

/** The longest subject that is taken from the text. */
const MAX_SUBJECT = 200;

export async function composeMail(
  { to, text, format, subject: answered = "", references: before = [] }: OutgoingMessage,
  { from, fromName = "", messageId }: { from: string; fromName?: string; messageId: string },
): Promise<SendMailOptions> {
  const { address, subject } = parseRecipient(to);
  const references = toIds(before);
  const isAnswer = answered !== "" || before.length > 0;
  return {
    from: { name: fromName, address: from },
    to: { name: "", address },
    subject: toSubject(answered || subject, { text, isAnswer }),
    messageId: `<${messageId}>`,
    inReplyTo: references.at(-1),
    references,
    headers: {
      // RFC 3834: other programs do not answer it.
      "Auto-Submitted": isAnswer ? "auto-replied" : "auto-generated",
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

/** That of the answered mail or of the recipient, or the text's first line. */
function toSubject(subject: string, { text, isAnswer }: { text: string; isAnswer: boolean }): string {
  const first = cutText(text.trim().split("\n", 1)[0] ?? "", MAX_SUBJECT);
  const line = (subject || first).replaceAll(/[\s\p{C}]+/gu, " ").trim();
  return isAnswer && !/^re:/i.test(line) ? `Re: ${line}` : line;
}
