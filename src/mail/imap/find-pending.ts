import type { OpenFolder } from "./open-folder.ts";
import type { Backlog, Position } from "./position.ts";
import { search } from "./search.ts";

/** The uids of mails, in the order they came. */
export interface Pending {
  /** Of the backlog: whether they are wanted is to be seen. */
  old: number[];
  fresh: number[];
}

const DAY_MS = 86_400_000;

/** Finds what lies behind a position. Rejects with the library's error. */
export async function findPending(folder: OpenFolder, { uid, backlog }: Position): Promise<Pending> {
  const old = backlog ? await findOld(folder, uid, backlog) : [];
  const after = backlog?.until ?? uid;
  const found = await search(folder.client, { uid: `${after + 1}:*` });
  // `*` is the last mail, even where it lies before the range.
  return { old, fresh: found.filter((each) => each > after) };
}

async function findOld({ client }: OpenFolder, after: number, { until, since }: Backlog): Promise<number[]> {
  // A search knows days alone, in a time zone of the server's choice, and some take none that is yet to come.
  const day = new Date(Math.max(0, Math.min(since, Date.now()) - 2 * DAY_MS));
  return await search(client, { uid: `${after + 1}:${until}`, since: day });
}
