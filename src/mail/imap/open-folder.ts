import type { ImapFlow, MailboxObject } from "imapflow";
import { connectionLost } from "./connection-lost.ts";
import type { FolderState } from "./position.ts";
import { search } from "./search.ts";

/** A folder that its connection has selected, for reading alone. */
export interface OpenFolder extends FolderState {
  client: ImapFlow;
  /** As it is configured. */
  name: string;
  /** `\Junk`, `\Trash`, `\Drafts` … */
  use: string | undefined;
}

/**
 * Opens a folder, or looks at it again: on a connection that broke without a word this is what finds it out, and ends it. Rejects with the
 * library's error.
 */
export async function openFolder(client: ImapFlow, name: string, answerMs: number): Promise<OpenFolder> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    client.close();
  }, answerMs);
  try {
    const mailbox = await client.mailboxOpen(name, { readOnly: true });
    if (!client.mailbox) throw connectionLost(client);
    const uidNext = mailbox.uidNext || (await findUidNext(client, mailbox));
    return { client, name, use: mailbox.specialUse, uidValidity: mailbox.uidValidity, uidNext };
  } catch (error) {
    throw isLate ? new Error(`The server did not answer for ${answerMs} ms.`, { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** For a server that does not tell. */
async function findUidNext(client: ImapFlow, { exists }: MailboxObject): Promise<number> {
  const [last = 0] = exists > 0 ? await search(client, { uid: "*" }) : [];
  return last + 1;
}
