import type { MailSettings } from "../../config/resolved.ts";
import type { ReceivedMail } from "../port.ts";

/** Whether the settings want a mail posted; `own`: the mailbox's own addresses, in lower case. */
export function createFilter(
  filter: MailSettings["filter"],
  own: readonly string[],
): (received: ReceivedMail) => boolean {
  const senders = filter.senders && new Set(filter.senders.map((sender) => sender.toLowerCase()));
  const labels = filter.labels && new Set(filter.labels);

  return function isWanted({ mail, marks }: ReceivedMail): boolean {
    if (marks.spam && !filter.spam) return false;
    if (marks.trash && !filter.trash) return false;
    if (marks.draft && !filter.drafts) return false;
    if (!filter.own && own.includes(mail.sender)) return false;
    if (filter.dmarc && mail.authentication.dmarc?.toLowerCase() !== filter.dmarc) return false;
    if (labels && !mail.labels.some((label) => labels.has(label))) return false;
    return !senders || senders.has(mail.sender) || senders.has(domainOf(mail.sender));
  };
}

/** `@example.com`, as the settings write a domain. */
function domainOf(sender: string): string {
  return sender.slice(Math.max(0, sender.lastIndexOf("@")));
}
