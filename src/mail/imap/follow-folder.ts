import type { ImapFlow } from "imapflow";
import type { FollowOptions, MailBatch } from "../port.ts";
import { type Doorbell, hangDoorbell } from "./doorbell.ts";
import { findPending } from "./find-pending.ts";
import { giveBatches } from "./give-batches.ts";
import { openFolder } from "./open-folder.ts";
import { parsePosition, readOnFrom, writePosition } from "./position.ts";
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
