import type { FetchMessageObject } from "imapflow";
import { readHeader } from "../content/read-header.ts";
import { toMailId } from "../content/to-mail-id.ts";
import { isRefusal } from "./is-refusal.ts";
import type { OpenFolder } from "./open-folder.ts";
import { toTime } from "./to-facts.ts";
import { toRange } from "./to-range.ts";

export interface Wish {
  /** Milliseconds since the epoch. */
  since: number;
  isKnown(id: string): boolean;
}

const LOOK = { uid: true, internalDate: true, headers: ["message-id"] };

/**
 * Those of the mails that were received in time and are not known, ascending. One that cannot be looked at makes a server refuse
 * them all: it is found by halves, and wanted as it is.
 */
export async function pickWanted(folder: OpenFolder, uids: number[], wish: Wish): Promise<number[]> {
  try {
    const answers = await folder.client.fetchAll(toRange(uids), LOOK, { uid: true });
    // The others are news of flags.
    const mails = answers.filter(({ internalDate }) => internalDate !== undefined);
    const wanted = mails.filter((mail) => isWanted(mail, wish)).map(({ uid }) => uid);
    return wanted.toSorted((one, other) => one - other);
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
