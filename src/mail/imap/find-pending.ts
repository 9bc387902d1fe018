import type { FetchMessageObject } from "imapflow";
import { readHeader } from "../content/read-header.ts";
import { toMailId } from "../content/to-mail-id.ts";
import { chunks } from "./chunks.ts";
import { isRefusal } from "./is-refusal.ts";
import type { OpenFolder } from "./open-folder.ts";
import type { Backlog, Position } from "./position.ts";
import { search } from "./search.ts";
import { toTime } from "./to-facts.ts";
import { toRange } from "./to-range.ts";

const DAY_MS = 86_400_000;
/** Looked at in one command: little enough for the longest line that servers take. */
const PIECE = 500;

/** The uids of the mails to give, in the order they came. */
export async function findPending(
  folder: OpenFolder,
  { uid, backlog }: Position,
  isKnown: (id: string) => boolean,
): Promise<number[]> {
  const old = backlog ? await findOld(folder, { after: uid, ...backlog }, isKnown) : [];
  const after = Math.max(uid, backlog?.until ?? 0);
  const found = await search(folder.client, { uid: `${after + 1}:*` });
  // `*` is the last mail, even where it lies before the range.
  return [...old, ...found.filter((each) => each > after)];
}

async function findOld(
  folder: OpenFolder,
  { after, until, since }: Backlog & { after: number },
  isKnown: (id: string) => boolean,
): Promise<number[]> {
  if (after >= until) return [];
  // A search knows days alone, in a time zone of the server's choice, and some take none that is yet to come.
  const day = new Date(Math.max(0, Math.min(since, Date.now()) - 2 * DAY_MS));
  const candidates = await search(folder.client, { uid: `${after + 1}:${until}`, since: day });
  const isWanted = (mail: FetchMessageObject): boolean => {
    const id = toId(mail);
    return toTime(mail.internalDate) >= since && !(id && isKnown(id));
  };
  const wanted: number[] = [];
  for (const piece of chunks(candidates, PIECE)) wanted.push(...(await pick(folder, piece, isWanted)));
  return wanted.toSorted((one, other) => one - other);
}

/** A mail that cannot be looked at makes a server refuse them all. It is found by halves, and picked as it is. */
async function pick(
  folder: OpenFolder,
  uids: number[],
  isWanted: (mail: FetchMessageObject) => boolean,
): Promise<number[]> {
  try {
    const query = { uid: true, internalDate: true, headers: ["message-id"] };
    const answers = await folder.client.fetchAll(toRange(uids), query, { uid: true });
    // The others are news of flags.
    const mails = answers.filter(({ internalDate }) => internalDate !== undefined);
    return mails.filter(isWanted).map(({ uid }) => uid);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (uids.length === 1) return uids;
    const half = Math.ceil(uids.length / 2);
    const first = await pick(folder, uids.slice(0, half), isWanted);
    return [...first, ...(await pick(folder, uids.slice(half), isWanted))];
  }
}

function toId({ headers }: FetchMessageObject): string | undefined {
  return toMailId(readHeader(headers ?? Buffer.of(), "utf-8").value("message-id"));
}
