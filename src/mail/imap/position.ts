import type { FetchMessageObject, FetchQueryObject, ImapFlow, SearchObject } from "imapflow";
import { isObject } from "../../shared/json.ts";
import { connectionLost } from "./errors.ts";

/**
 * How far a folder is read. UIDVALIDITY and UIDNEXT tell by themselves whether anything is new: the mod-sequences of CONDSTORE
 * and QRESYNC also count changes of flags, which are no mail.
 */
export interface Position {
  /** Where the folder says another, its uids are others too. */
  uidValidity: bigint;
  /** The last one that was dealt with. */
  uid: number;
  /** The mails that lay there when the reading began. Absent once they are dealt with. */
  backlog?: Backlog;
}

export interface Backlog {
  /** The last of them. */
  until: number;
  /** Those received before this are left out. Milliseconds since the epoch. */
  since: number;
}

/** What a folder says of itself as it is opened. */
export interface FolderState {
  uidValidity: bigint;
  /** What the next mail's uid will be at least. */
  uidNext: number;
}

/** Where to read on; from the start where the position is another folder's, or of one that was put back to an earlier state. */
export function readOnFrom(position: Position | undefined, folder: FolderState, since: number): Position {
  const { uidValidity, uidNext } = folder;
  if (position?.uidValidity === uidValidity && position.uid < uidNext) return position;
  return uidNext > 1 ? { uidValidity, uid: 0, backlog: { until: uidNext - 1, since } } : { uidValidity, uid: 0 };
}

/** The position once the mail of this uid is dealt with, or all that was known of. */
export function advance(position: Position, uid: number): Position {
  const { uidValidity, backlog } = position;
  return backlog && uid < backlog.until ? { uidValidity, uid, backlog } : { uidValidity, uid };
}

export function writePosition({ uidValidity, ...rest }: Position): string {
  return JSON.stringify({ uidValidity: String(uidValidity), ...rest });
}

/** Undefined where there is none, or none that can be read. */
export function parsePosition(text: string | undefined): Position | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    if (!isObject(value) || typeof value["uidValidity"] !== "string") return undefined;
    const position = { uidValidity: BigInt(value["uidValidity"]), uid: Number(value["uid"]) };
    const { backlog } = value;
    if (!isObject(backlog)) return position;
    return { ...position, backlog: { until: Number(backlog["until"]), since: Number(backlog["since"]) } };
  } catch {
    return undefined;
  }
}

/** The uids of what is found, ascending. Rejects where the connection is lost, or the server refuses. */
export async function search(client: ImapFlow, query: SearchObject): Promise<number[]> {
  const uids = await client.search(query, { uid: true });
  if (Array.isArray(uids)) return uids;
  const isLost = !client.mailbox || client.byeReason !== undefined;
  throw isLost ? connectionLost(client) : new Error("It refuses to search.");
}

/**
 * What a server answers for these mails, among it news that nobody asked for. Rejects where the connection is lost: the library
 * then gives nothing at all, which would pass for mails that are gone.
 */
export async function* fetchMails(
  client: ImapFlow,
  uids: number[],
  query: FetchQueryObject,
): AsyncGenerator<FetchMessageObject> {
  yield* client.fetch(toRange(uids), query, { uid: true });
  if (!client.mailbox) throw connectionLost(client);
}

/** Ascending uids as a command names them: `3:7,9`. */
export function toRange(uids: number[]): string {
  const runs: { first: number; last: number }[] = [];
  for (const uid of uids) {
    const run = runs.at(-1);
    if (run?.last === uid - 1) run.last = uid;
    else runs.push({ first: uid, last: uid });
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}:${last}`)).join(",");
}

export function chunks<Item>(items: Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
