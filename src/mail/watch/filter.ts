import type { MailSettings } from "../../config/resolved.ts";
import type { ReceivedMail } from "../port.ts";

type Filter = MailSettings["filter"];

/** The key of `hooks.mail.filter` that passes a mail over; undefined: the mail is wanted. */
export type PickFilter = (received: ReceivedMail) => keyof Filter | undefined;

/** `own`: the mailbox's own addresses, in lower case. */
export function createFilter(filter: Filter, own: readonly string[]): PickFilter {
  const senders = filter.senders && new Set(filter.senders.map((sender) => sender.toLowerCase()));
  const labels = filter.labels && new Set(filter.labels);

  return function pickFilter({ mail, marks }) {
    if (marks.spam && !filter.spam) return "spam";
    if (marks.trash && !filter.trash) return "trash";
    if (marks.draft && !filter.drafts) return "drafts";
    if (!filter.own && own.includes(mail.sender)) return "own";
    if (filter.dmarc && mail.authentication.dmarc?.toLowerCase() !== filter.dmarc) return "dmarc";
    if (labels && !mail.labels.some((label) => labels.has(label))) return "labels";
    if (senders && !senders.has(mail.sender) && !senders.has(domainOf(mail.sender))) return "senders";
    return undefined;
  };
}

/** `@example.com`, as the settings write a domain. */
function domainOf(sender: string): string {
  return sender.slice(Math.max(0, sender.lastIndexOf("@")));
}
