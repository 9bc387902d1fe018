import type { FollowOptions } from "../port.ts";
import type { GmailApi } from "./gmail-api.ts";
import { type Change, listChanges } from "./list-changes.ts";
import type { Look } from "./look.ts";
import type { Position } from "./position.ts";
import { readMails } from "./read-mails.ts";
import type { Step } from "./step.ts";

const DAY_MS = 24 * 3_600_000;

/** As long as Gmail keeps spam and trash: whoever moves an older mail to the inbox tidies up. */
const MOVED_MS = 30 * DAY_MS;

/** What is looked through again before the moment that was read up to: clocks differ, and mails are delayed on their way in. */
const OVERLAP_MS = DAY_MS;

/**
 * Gives what came in since a position, and at last the position behind it. Where Gmail no longer knows the position, that is one
 * with a backlog.
 */
export async function* readHistory(
  api: GmailApi,
  position: Position,
  options: FollowOptions,
): AsyncGenerator<Step> {
  const readAt = Date.now();
  const found = await listChanges(api, position.historyId, options.signal);
  if (found === undefined) yield await startAgain(api, position, options);
  else
    yield* readChanges(
      api,
      found.changes,
      { from: position, to: { historyId: found.historyId, readAt } },
      options,
    );
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
