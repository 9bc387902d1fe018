import type { MailBatch } from "../port.ts";
import { chunks } from "./chunks.ts";
import type { Pending } from "./find-pending.ts";
import { pickWanted } from "./pick-wanted.ts";
import { advance, type Position, writePosition } from "./position.ts";
import { readMails, type Reading } from "./read-mails.ts";

/** So many mails of a backlog are looked at in one command: little enough for the longest line that servers take. */
const PIECE = 500;

/** Gives what is pending. Returns the position behind it. Rejects with the library's error. */
export async function* giveBatches(
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
