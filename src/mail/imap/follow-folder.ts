import type { ImapFlow } from "imapflow";
import type { FollowOptions, MailBatch } from "../port.ts";
import { chunks } from "./chunks.ts";
import { type Doorbell, hangDoorbell } from "./doorbell.ts";
import { findPending } from "./find-pending.ts";
import { openFolder } from "./open-folder.ts";
import { advance, parsePosition, type Position, readOnFrom, writePosition } from "./position.ts";
import { readMails, type Reading } from "./read-mails.ts";
import type { Tries } from "./tries.ts";

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
  for (let isFirst = true; ; isFirst = false) {
    const folder = await openFolder(client, name, timing.answerMs);
    position = readOnFrom(position, folder, options.since);
    do {
      doorbell.reset();
      const pending = await findPending(folder, position, options.isKnown);
      if (isFirst) yield { mails: [], position: writePosition(position), remaining: pending.length };
      position = yield* giveBatches({ folder, options, tries }, position, pending);
      isFirst = false;
    } while (await waitForMail(client, doorbell, timing));
  }
}

/** Gives the mails that are pending. Returns the position behind them. */
async function* giveBatches(
  reading: Reading,
  position: Position,
  pending: number[],
): AsyncGenerator<MailBatch, Position> {
  if (pending.length === 0 && !position.backlog) return position;
  const last = Math.max(pending.at(-1) ?? 0, position.backlog?.until ?? 0);
  let [reached, remaining] = [position, pending.length];
  for (const uids of pending.length > 0 ? chunks(pending, reading.options.batchSize) : [[]]) {
    const mails = await readMails(reading, uids);
    remaining -= uids.length;
    reached = advance(reached, remaining > 0 ? (uids.at(-1) ?? last) : last);
    yield { mails, position: writePosition(reached), remaining };
  }
  return reached;
}

/** False: it is time to look at the folder again. */
async function waitForMail(
  client: ImapFlow,
  doorbell: Doorbell,
  { renewMs, pollMs }: Timing,
): Promise<boolean> {
  if (!client.capabilities.has("IDLE")) return await doorbell.wait(pollMs);
  // It ends with the next command.
  client.idle().catch(() => undefined);
  return await doorbell.wait(renewMs);
}
