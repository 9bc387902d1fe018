import type { ImapFlow } from "imapflow";
import type { FollowOptions, MailBatch } from "../source.ts";
import { openFolder, type OpenFolder } from "./connect.ts";
import { pickWanted } from "./fetch-parts.ts";
import { type Reading, readMails } from "./fetch.ts";
import {
  advance,
  type Backlog,
  chunks,
  parsePosition,
  type Position,
  readOnFrom,
  search,
  writePosition,
} from "./position.ts";
import type { Tries } from "./reader.ts";

export interface FollowContext {
  timing: Timing;
  tries: Tries;
}

/** All in milliseconds. */
export interface Timing {
  /** How long a connection may stay in IDLE before the folder is looked at again: it may have been deleted, or the connection. */
  renewMs: number;
  /** How often a server without IDLE is asked. */
  pollMs: number;
  /** How long a server may take to open a folder. */
  answerMs: number;
}

/** Follows a folder over a connection that has logged in. Rejects with the library's error; never ends by itself. */
export async function* followFolder(
  client: ImapFlow,
  name: string,
  { options, timing, tries }: FollowContext & { options: FollowOptions },
): AsyncGenerator<MailBatch> {
  const doorbell = hangDoorbell(client);
  let position = parsePosition(options.position);
  let isFirst = true;
  for (;;) {
    const folder = await openFolder(client, name, timing.answerMs);
    position = readOnFrom(position, folder, options.since);
    do {
      doorbell.reset();
      const pending = await findPending(folder, position);
      const remaining = pending.old.length + pending.fresh.length;
      if (isFirst) yield { mails: [], position: writePosition(position), remaining };
      isFirst = false;
      position = yield* giveBatches({ folder, options, tries }, position, pending);
    } while (await waitForMail(client, doorbell, timing));
  }
}

/** False: it is time to look at the folder again. */
async function waitForMail(client: ImapFlow, doorbell: Doorbell, { renewMs, pollMs }: Timing): Promise<boolean> {
  if (!client.capabilities.has("IDLE")) return await doorbell.wait(pollMs);
  // It ends with the next command.
  client.idle().catch(() => undefined);
  return await doorbell.wait(renewMs);
}

/** So many mails of a backlog are looked at in one command: little enough for the longest line that servers take. */
const PIECE = 500;

/** Gives what is pending. Returns the position behind it. Rejects with the library's error. */
async function* giveBatches(
  reading: Reading,
  from: Position,
  { old, fresh }: Pending,
): AsyncGenerator<MailBatch, Position> {
  const { folder, options } = reading;
  const { backlog } = from;
  let position = from;
  let behind = old.length + fresh.length;
  if (backlog) {
    for (const piece of chunks(old, PIECE)) {
      const { isKnown } = options;
      const uids = await pickWanted(folder, piece, { since: backlog.since, isKnown });
      behind -= piece.length;
      position = yield* giveMails(reading, position, { uids, end: piece.at(-1) ?? 0, behind });
    }
    position = yield* giveMails(reading, position, { uids: [], end: backlog.until, behind });
  }
  return yield* giveMails(reading, position, { uids: fresh, end: fresh.at(-1) ?? 0, behind: 0 });
}

interface Stretch {
  uids: number[];
  /** Where the position stands once they are dealt with, even where there are none. */
  end: number;
  /** How many mails wait behind them. */
  behind: number;
}

async function* giveMails(
  reading: Reading,
  from: Position,
  { uids, end, behind }: Stretch,
): AsyncGenerator<MailBatch, Position> {
  if (end <= from.uid) return from;
  let [position, remaining] = [from, uids.length];
  for (const group of uids.length > 0 ? chunks(uids, reading.options.batchSize) : [[]]) {
    const mails = await readMails(reading, group);
    remaining -= group.length;
    position = advance(position, remaining > 0 ? (group.at(-1) ?? end) : end);
    yield { mails, position: writePosition(position), remaining: remaining + behind };
  }
  return position;
}

/** The uids of mails, in the order they came. */
interface Pending {
  /** Of the backlog: whether they are wanted is to be seen. */
  old: number[];
  fresh: number[];
}

const DAY_MS = 86_400_000;

/** Finds what lies behind a position. Rejects with the library's error. */
async function findPending(folder: OpenFolder, { uid, backlog }: Position): Promise<Pending> {
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

/** Rings when a server announces a mail, and when the connection is lost. */
interface Doorbell {
  /** What has rung so far does not count any more. */
  reset(): void;
  /** Resolves to true once it rings, at once where it has; to false where it does not within so many milliseconds. */
  wait(milliseconds: number): Promise<boolean>;
}

function hangDoorbell(client: ImapFlow): Doorbell {
  let rung = Promise.withResolvers<true>();
  const ring = (): void => rung.resolve(true);
  client.on("exists", ring);
  client.on("close", ring);
  return {
    reset() {
      // One that was lost stays so.
      if (client.usable) rung = Promise.withResolvers<true>();
    },
    async wait(milliseconds) {
      const late = Promise.withResolvers<false>();
      const timer = setTimeout(() => late.resolve(false), milliseconds);
      const result = await Promise.race([rung.promise, late.promise]);
      clearTimeout(timer);
      return result;
    },
  };
}
