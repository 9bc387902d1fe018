import type { FollowOptions, ReceivedMail } from "../port.ts";
import { isRefusal } from "./is-refusal.ts";
import type { OpenFolder } from "./open-folder.ts";
import { readBatch } from "./read-batch.ts";
import { readEnvelope } from "./read-envelope.ts";
import { readNothing } from "./read-nothing.ts";
import type { Reader } from "./reader.ts";
import { search } from "./search.ts";
import type { Tries } from "./tries.ts";

/** What is read, and how. */
export interface Reading {
  folder: OpenFolder;
  options: FollowOptions;
  tries: Tries;
}

/** What is tried in turn with a mail that a server does not give, each so often. */
const READERS: Reader[] = [readBatch, readEnvelope];
const MOST_TRIES = 5;

/**
 * Reads mails, in the order of their uids. One that is gone is left out; one that the server does not give is given as far as it
 * is known. Rejects where the connection is lost: what it was lost over is asked for alone the next time.
 */
export async function readMails(reading: Reading, uids: number[]): Promise<ReceivedMail[]> {
  const { folder, tries } = reading;
  const trusted = uids.filter((uid) => tries.of(folder, uid) === 0);
  const mails = await tryReader(reading, trusted, readBatch);
  const inOrder: ReceivedMail[] = [];
  for (const uid of uids) {
    const mail = mails.get(uid) ?? (await readAlone(reading, uid));
    if (mail) inOrder.push(mail);
  }
  return inOrder;
}

/** Undefined where the mail is gone. */
async function readAlone(reading: Reading, uid: number): Promise<ReceivedMail | undefined> {
  const { folder, options, tries } = reading;
  let mail: ReceivedMail | undefined;
  while (!mail && (await isThere(folder, uid))) {
    const reader = READERS[Math.floor(tries.of(folder, uid) / MOST_TRIES)];
    const mails = reader && (await tryReader(reading, [uid], reader));
    mail = mails ? mails.get(uid) : await readNothing(folder, uid, options);
  }
  tries.forget(folder, uid);
  return mail;
}

async function isThere({ client }: OpenFolder, uid: number): Promise<boolean> {
  return (await search(client, { uid: `${uid}` })).includes(uid);
}

/** Gives those that could be read. */
async function tryReader(
  { folder, options, tries }: Reading,
  uids: number[],
  read: Reader,
): Promise<Map<number, ReceivedMail>> {
  const mails = new Map<number, ReceivedMail>();
  try {
    for await (const { uid, received } of read(folder, uids, options)) mails.set(uid, received);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  } finally {
    for (const uid of uids) if (!mails.has(uid)) tries.add(folder, uid);
  }
  return mails;
}
