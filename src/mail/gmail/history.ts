import type { FollowOptions } from "../source.ts";
import type { GmailApi } from "./api.ts";
import { readMails } from "./fetch.ts";
import type { Look, Step } from "./look.ts";
import { type Backlog, laterRecord, type Position } from "./position.ts";

const DAY_MS = 24 * 3_600_000;

/** As long as Gmail keeps spam and trash: whoever moves an older mail to the inbox tidies up. */
const MOVED_MS = 30 * DAY_MS;

/** What is looked through again before the moment that was read up to: clocks differ, and mails are delayed on their way in. */
const OVERLAP_MS = DAY_MS;

/**
 * Gives what came in since a position, and at last the position behind it. Where Gmail no longer knows the position, that is one
 * with a backlog.
 */
export async function* readHistory(api: GmailApi, position: Position, options: FollowOptions): AsyncGenerator<Step> {
  const readAt = Date.now();
  const found = await listChanges(api, position.historyId, options.signal);
  if (found === undefined) yield await startAgain(api, position, options);
  else yield* readChanges(api, found.changes, { from: position, to: { historyId: found.historyId, readAt } }, options);
}

async function* readChanges(
  api: GmailApi,
  changes: Change[],
  { from, to }: { from: Position; to: Position },
  options: FollowOptions,
): AsyncGenerator<Step> {
  let position = from;
  for (let at = 0; at < changes.length; at += options.batchSize) {
    const some = changes.slice(at, at + options.batchSize);
    const behind = changes.slice(at + options.batchSize);
    const ids = some.map(({ id }) => id);
    const { mails } = await readMails(api, ids, createIsWanted(some, options), options);
    // A record that goes on behind these is not dealt with yet.
    const last = some.findLast(({ record }) => record !== behind[0]?.record);
    position = { ...position, historyId: last?.record ?? position.historyId };
    if (mails.length > 0) yield { mails, position, remaining: behind.length };
  }
  yield { mails: [], position: to, remaining: 0 };
}

async function startAgain(api: GmailApi, { readAt }: Position, options: FollowOptions): Promise<Step> {
  const since = Math.max(options.since, readAt - OVERLAP_MS);
  return { mails: [], position: await startPosition(api, since, options.signal), remaining: 0 };
}

/** The mailbox as it is now, with what came since a moment to be looked through first. */
export async function startPosition(api: GmailApi, since: number, signal: AbortSignal): Promise<Position> {
  const readAt = Date.now();
  const { historyId } = await api.profile(signal);
  return { historyId: historyId ?? "1", readAt, backlog: { since, given: [] } };
}

function createIsWanted(changes: Change[], { since }: FollowOptions): (looked: Look) => boolean {
  const moved = new Set(changes.filter((change) => change.moved).map(({ id }) => id));
  const oldest = Math.max(since, Date.now() - MOVED_MS);
  return ({ id, receivedAt }) => !moved.has(id) || receivedAt >= oldest;
}

/** A mail that the history names. */
interface Change {
  id: string;
  /** The record of the history that names it. */
  record: string;
  /** It was there before, and was moved to the inbox: out of spam or trash, as a rule. */
  moved: boolean;
}

interface Changes {
  /** Each mail once, oldest record first. */
  changes: Change[];
  /** Where the history ended. */
  historyId: string;
}

type Page = NonNullable<Awaited<ReturnType<GmailApi["history"]>>>;

/** What came into the mailbox since a record; undefined where Gmail no longer knows that record. */
async function listChanges(api: GmailApi, startHistoryId: string, signal: AbortSignal): Promise<Changes | undefined> {
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

/** As many as a batch may have, so that none of them is given again: what a position may hold is bounded. */
const MAX_GIVEN = 100;

/** Gives the mails of the backlog, oldest first, and at last the position that needs none of them any more. */
export async function* readBacklog(
  api: GmailApi,
  { backlog: start, ...behind }: Position & { backlog: Backlog },
  options: FollowOptions,
): AsyncGenerator<Step> {
  const listed = await listBacklog(api, start.since, options.signal);
  const ids = listed.filter((id) => !start.given.includes(id));
  let backlog = start;
  while (ids.length > 0) {
    const some = ids.splice(0, options.batchSize);
    const { mails, looks } = await readMails(api, some, ({ receivedAt }) => receivedAt >= start.since, options);
    backlog = moveOn(backlog, looks);
    if (mails.length > 0) yield { mails, position: { ...behind, backlog }, remaining: ids.length };
  }
  yield { mails: [], position: behind, remaining: 0 };
}

/** To the oldest of them, not to the newest: Gmail promises no exact order. */
function moveOn({ since, given }: Backlog, looks: Look[]): Backlog {
  const oldest = looks.length > 0 ? Math.min(...looks.map(({ receivedAt }) => receivedAt)) : since;
  return {
    since: Math.max(since, oldest),
    given: [...given, ...looks.map(({ id }) => id)].slice(-MAX_GIVEN),
  };
}

/** The ids of all mails that Gmail received since a moment (milliseconds since the epoch) or the second before it, oldest first. */
async function listBacklog(api: GmailApi, since: number, signal: AbortSignal): Promise<string[]> {
  // The search knows seconds, and leaves it open whether the one it names is in.
  const q = `after:${Math.max(0, Math.floor(since / 1000) - 1)}`;
  const ids: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await api.search({ q, pageToken }, signal);
    ids.push(...(page.messages ?? []).flatMap(({ id }) => id ?? []));
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
  return [...new Set(ids)].toReversed();
}
