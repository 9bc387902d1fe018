import type { FetchMessageObject } from "imapflow";
import type { MailFacts } from "../content/read-mail.ts";
import type { MailMarks } from "../port.ts";
import type { OpenFolder } from "./open-folder.ts";

/** What is asked of every mail before its text is. */
export const FACTS = { uid: true, size: true, flags: true, internalDate: true, labels: true, threadId: true };

/** What the server knows of a mail beside its text. */
export function toFacts({ name }: OpenFolder, message: FetchMessageObject): MailFacts {
  const { flags = new Set(), labels = new Set(), threadId, internalDate } = message;
  const keywords = [...flags].filter((flag) => !flag.startsWith("\\"));
  return {
    folder: name,
    labels: [...keywords, ...[...labels].map((label) => label.replace(/^\\/, ""))],
    receivedAt: toTime(internalDate),
    ...(threadId && { threadId }),
  };
}

/** What a server marks itself, or lets others mark, by the folder, by a flag or by one of Gmail's labels. */
export function toMarks({ use }: OpenFolder, { flags, labels }: FetchMessageObject): MailMarks {
  const marks = new Set([use, ...(flags ?? []), ...(labels ?? [])].map((mark) => mark?.toLowerCase()));
  const hasAny = (...names: string[]): boolean => names.some((name) => marks.has(name));
  return {
    spam: hasAny("\\junk", "\\spam", "$junk", "junk"),
    trash: hasAny("\\trash", "\\deleted"),
    draft: hasAny("\\drafts", "\\draft"),
  };
}

/** Milliseconds since the epoch. A date that the server gives in no form that is known counts as now. */
export function toTime(internalDate: Date | string | undefined): number {
  return internalDate instanceof Date ? internalDate.getTime() : Date.now();
}
