import type { GmailApi } from "./gmail-api.ts";
import { laterRecord } from "./position.ts";

/** A mail that the history names. */
export interface Change {
  id: string;
  /** The record of the history that names it. */
  record: string;
  /** It was there before, and was moved to the inbox: out of spam or trash, as a rule. */
  moved: boolean;
}

export interface Changes {
  /** Each mail once, oldest record first. */
  changes: Change[];
  /** Where the history ended. */
  historyId: string;
}

type Page = NonNullable<Awaited<ReturnType<GmailApi["history"]>>>;

/** What came into the mailbox since a record; undefined where Gmail no longer knows that record. */
export async function listChanges(
  api: GmailApi,
  startHistoryId: string,
  signal: AbortSignal,
): Promise<Changes | undefined> {
  const found = new Map<string, Change>();
  let historyId = startHistoryId;
  let pageToken: string | undefined;
  do {
    const page = await api.history({ startHistoryId, pageToken }, signal);
    if (page === undefined) return undefined;
    // A later page tells the mailbox's end of a later moment: what came in between may be on none of the pages.
    if (pageToken === undefined) historyId = laterRecord(historyId, page.historyId ?? startHistoryId);
    for (const change of toChanges(page)) {
      if (!found.has(change.id)) found.set(change.id, change);
      historyId = laterRecord(historyId, change.record);
    }
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
  return { changes: [...found.values()], historyId };
}

function toChanges({ history = [] }: Page): Change[] {
  return history.flatMap(({ id: record, messagesAdded = [], labelsAdded = [] }) => {
    if (!record) return [];
    const added = messagesAdded.map(({ message }) => ({ id: message?.id ?? "", record, moved: false }));
    const moved = labelsAdded
      .filter(({ labelIds }) => labelIds?.includes("INBOX"))
      .map(({ message }) => ({ id: message?.id ?? "", record, moved: true }));
    return [...added, ...moved].filter(({ id }) => id !== "");
  });
}
