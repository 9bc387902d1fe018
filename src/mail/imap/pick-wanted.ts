import type { FetchMessageObject } from "imapflow";
import { readHeader } from "../content/read-header.ts";
import { toMailId } from "../content/to-mail-id.ts";
import { fetchMails } from "./fetch-mails.ts";
import { isRefusal } from "./is-refusal.ts";
import type { OpenFolder } from "./open-folder.ts";
import { toTime } from "./to-facts.ts";

export interface Wish {
  /** Milliseconds since the epoch. */
  since: number;
  isKnown(id: string): boolean;
}

const LOOK = { uid: true, internalDate: true, headers: ["message-id"] };

/**
 * Leaves out the mails that were not received in time, or are known. What nothing is said of stays. One that cannot be looked at
 * makes a server refuse them all: it is found by halves, and stays, too. Rejects with the library's error.
 */
export async function pickWanted(folder: OpenFolder, uids: number[], wish: Wish): Promise<number[]> {
  try {
    const unwanted = new Set<number>();
    for await (const mail of fetchMails(folder.client, uids, LOOK)) {
      if (mail.internalDate !== undefined && !isWanted(mail, wish)) unwanted.add(mail.uid);
    }
    return uids.filter((uid) => !unwanted.has(uid));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (uids.length === 1) return uids;
    const half = Math.ceil(uids.length / 2);
    const first = await pickWanted(folder, uids.slice(0, half), wish);
    return [...first, ...(await pickWanted(folder, uids.slice(half), wish))];
  }
}

function isWanted({ internalDate, headers }: FetchMessageObject, { since, isKnown }: Wish): boolean {
  const id = toMailId(readHeader(headers ?? Buffer.of(), "utf-8").value("message-id"));
  return toTime(internalDate) >= since && !(id && isKnown(id));
}
