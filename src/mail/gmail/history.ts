import { isObject, parseObject } from "../../core/shared/json.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import type { FollowOptions, MailBatch } from "../../core/ports/mail-source.ts";
import { withoutKnown } from "../message/known.ts";
import type { GmailApi } from "./api.ts";
import { type MessageInfo, readMails } from "./download.ts";

export interface Position {
  /** Everything up to this record of the mailbox's history is processed. */
  historyId: string;
  /** When the history was last read to its end, in milliseconds since the epoch, by this machine's clock. */
  readAt: number;
  /** The same, when it was first read: earlier mails do not count as new. */
  begunAt: number;
  /** The mails to read before the history continues. */
  backlog?: Backlog;
}

export interface Backlog {
  /** Mails received from then on, in milliseconds since the epoch. */
  since: number;
  /** Gmail's ids of the last mails that were given. */
  given: string[];
}

/** A batch whose position is not serialized yet. */
export type PositionedBatch = Omit<MailBatch, "position"> & { position: Position };

/** Gmail keeps spam and trash for this long. An older mail that is moved to the inbox is only being tidied up. */
const MAX_MOVED_AGE_MS = 30 * DAY_MS;
/** How much before the last read is searched again: clocks differ, and mail can be delayed on its way in. */
const OVERLAP_MS = DAY_MS;
/** The size of a batch, so that no mail is given twice. A position has a limited size. */
const MAX_GIVEN = 100;

export function parsePosition(text: string | undefined): Position | undefined {
  const { historyId, readAt, begunAt = readAt, backlog } = parseObject(text ?? "");
  if (typeof historyId !== "string" || !/^\d{1,30}$/.test(historyId)) return undefined;
  if (typeof readAt !== "number" || typeof begunAt !== "number") return undefined;
  return { historyId, readAt, begunAt, ...(isBacklog(backlog) && { backlog }) };
}

function isBacklog(value: unknown): value is Backlog {
  return isObject(value) && typeof value.since === "number" && Array.isArray(value.given);
}

/** The mailbox as it is now; what arrived since a moment, if there is one, is its backlog. */
export async function startPosition(
  api: GmailApi,
  { since, signal }: Pick<FollowOptions, "since" | "signal">,
): Promise<Position> {
  const readAt = Date.now();
  const { historyId } = await api.profile(signal);
  const backlog = since === undefined ? undefined : { since, given: [] };
  // Mail is received in whole seconds.
  const begunAt = Math.floor(readAt / 1000) * 1000;
  return { historyId: historyId ?? "1", readAt, begunAt, ...(backlog && { backlog }) };
}

/** Gives what arrived since a position. If Gmail no longer knows the position, gives a new one with a backlog. */
export async function* readHistory(
  api: GmailApi,
  from: Position,
  options: FollowOptions,
): AsyncGenerator<PositionedBatch> {
  const readAt = Date.now();
  const { batchSize, signal } = options;
  // A moment later than the last read is from a clock that was ahead.
  const since = Math.min(options.since ?? from.begunAt, from.readAt);
  const found = await listChanges(api, from.historyId, signal);
  if (found === undefined) {
    const position = await startPosition(api, { since: Math.max(since, from.readAt - OVERLAP_MS), signal });
    yield { mails: [], position: { ...position, begunAt: from.begunAt }, remaining: 0 };
    return;
  }
  const { changes, historyId } = found;
  const oldest = Math.max(since, readAt - MAX_MOVED_AGE_MS);
  const moved = new Set(changes.filter((change) => change.isMoved).map(({ id }) => id));
  const isWanted = ({ id, receivedAt }: MessageInfo): boolean => !moved.has(id) || receivedAt >= oldest;
  let position = from;
  while (changes.length > 0) {
    const batch = changes.splice(0, batchSize);
    const ids = batch.map(({ id }) => id);
    const { mails } = await readMails(api, ids, isWanted, options);
    // A record that continues in the next batch is not processed yet.
    const last = batch.findLast(({ record }) => record !== changes[0]?.record);
    position = { ...position, historyId: last?.record ?? position.historyId };
    if (mails.length > 0) yield { mails, position, remaining: changes.length };
  }
  yield { mails: [], position: { historyId, readAt, begunAt: from.begunAt }, remaining: 0 };
}

interface Change {
  id: string;
  record: string;
  /** Moved to the inbox, usually out of spam or trash. */
  isMoved: boolean;
}

/** Lists each mail that arrived since a record once, oldest first. Undefined if Gmail no longer knows the record. */
async function listChanges(
  api: GmailApi,
  startHistoryId: string,
  signal: AbortSignal,
): Promise<{ changes: Change[]; historyId: string } | undefined> {
  const changes = new Map<string, Change>();
  let historyId = BigInt(startHistoryId);
  let pageToken: string | undefined;
  do {
    const page = await api.history({ startHistoryId, pageToken }, signal);
    if (page === undefined) return undefined;
    // A later page names a later end: what arrived in between may be on no page.
    if (pageToken === undefined) historyId = later(historyId, page.historyId ?? startHistoryId);
    for (const change of toChanges(page)) {
      if (!changes.has(change.id)) changes.set(change.id, change);
      historyId = later(historyId, change.record);
    }
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
  return { changes: [...changes.values()], historyId: String(historyId) };
}

function toChanges({ history = [] }: NonNullable<Awaited<ReturnType<GmailApi["history"]>>>): Change[] {
  return history.flatMap(({ id: record, messagesAdded = [], labelsAdded = [] }) => {
    const moved = labelsAdded.filter(({ labelIds }) => labelIds?.includes("INBOX"));
    const toChange = (isMoved: boolean) => (entry: (typeof messagesAdded)[number]) =>
      record && entry.message?.id ? [{ id: entry.message.id, record, isMoved }] : [];
    return [...messagesAdded.flatMap(toChange(false)), ...moved.flatMap(toChange(true))];
  });
}

/** Records are numbers, larger than a `number` can hold. */
function later(one: bigint, other: string): bigint {
  return one < BigInt(other) ? BigInt(other) : one;
}

/** Gives the mails of the backlog, oldest first, and finally a position without it. */
export async function* readBacklog(
  api: GmailApi,
  { backlog: start, ...behind }: Position & { backlog: Backlog },
  options: FollowOptions,
): AsyncGenerator<PositionedBatch> {
  const { since } = start;
  const listed = await listReceivedSince(api, since, options.signal);
  const ids = listed.filter((id) => !start.given.includes(id));
  let backlog = start;
  while (ids.length > 0) {
    const batch = ids.splice(0, options.batchSize);
    const { mails: read, infos } = await readMails(api, batch, ({ receivedAt }) => receivedAt >= since, options);
    const mails = await withoutKnown(read, options);
    backlog = advance(backlog, infos);
    if (mails.length > 0) yield { mails, position: { ...behind, backlog }, remaining: ids.length };
  }
  yield { mails: [], position: behind, remaining: 0 };
}

/** Continues at the oldest of the mails, not at the newest: Gmail promises no exact order. */
function advance({ since, given }: Backlog, infos: MessageInfo[]): Backlog {
  const oldest = infos.length > 0 ? Math.min(...infos.map(({ receivedAt }) => receivedAt)) : since;
  return { since: Math.max(since, oldest), given: [...given, ...infos.map(({ id }) => id)].slice(-MAX_GIVEN) };
}

/** Lists ids, oldest first, including some of the second before. */
async function listReceivedSince(api: GmailApi, since: number, signal: AbortSignal): Promise<string[]> {
  // The search works by seconds, and does not say whether the given one is included.
  const q = `after:${Math.max(0, Math.floor(since / 1000) - 1)}`;
  const ids = new Set<string>();
  let pageToken: string | undefined;
  do {
    const page = await api.search({ q, pageToken }, signal);
    for (const { id } of page.messages ?? []) if (id) ids.add(id);
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
  return [...ids].toReversed();
}
