import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../faults/campaign/random.ts";
import type { TestMail } from "../../support/mails.ts";
import type { Maildir } from "../maildir.ts";

/** One of this many mails is delivered to every folder, as if the reader was on two lists. */
const ALL_FOLDERS_ONE_IN = 20;
const MAX_BURST = 20;
const MAX_PAUSE_MS = 40;

/** Delivers new mails. */
export interface Mailer {
  /** The tokens of all mails so far. */
  readonly sent: readonly string[];
  /** Delivers this many at once, to this folder or to any. */
  deliver(count: number, folder?: string): Promise<void>;
  /** Delivers this many in bursts. */
  trickle(count: number, folder?: string): Promise<void>;
}

export interface MailerOptions {
  mails: AsyncIterator<TestMail>;
  /** By folder name. */
  maildirs: ReadonlyMap<string, Maildir>;
  random: Random;
}

export function createMailer({ mails, maildirs, random }: MailerOptions): Mailer {
  const sent: string[] = [];
  return { sent, deliver, trickle };

  async function deliver(count: number, folder?: string): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const { source, token } = (await mails.next()).value;
      for (const maildir of pick(folder)) maildir.deliver(source);
      sent.push(token);
    }
  }

  async function trickle(count: number, folder?: string): Promise<void> {
    for (let left = count; left > 0;) {
      const burst = Math.min(left, 1 + random.below(MAX_BURST));
      await deliver(burst, folder);
      left -= burst;
      await sleep(random.below(MAX_PAUSE_MS));
    }
  }

  function pick(folder: string | undefined): Iterable<Maildir> {
    const one = folder ?? [...maildirs.keys()][random.below(maildirs.size)]!;
    if (folder === undefined && random.below(ALL_FOLDERS_ONE_IN) === 0) return maildirs.values();
    return [maildirs.get(one)!];
  }
}
