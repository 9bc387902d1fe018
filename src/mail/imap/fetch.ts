import type { FetchMessageObject } from "imapflow";
import { readMail } from "../message/read-mail.ts";
import type { FollowOptions, ReceivedMail } from "../source.ts";
import type { OpenFolder } from "./connect.ts";
import { isRefusal } from "./errors.ts";
import { FACTS, readEnvelope, readNothing, toFacts, toMarks } from "./facts.ts";
import { fetchLarge } from "./fetch-parts.ts";
import { fetchMails, search } from "./position.ts";
import type { Reader, Tries } from "./reader.ts";

/** A larger one is fetched in pieces. */
const MAX_BYTES = 512 * 1024;

/** Reads mails, each as soon as its text is there, in no particular order. One that is gone is left out. Rejects with the library's error. */
async function* readBatch(
  folder: OpenFolder,
  uids: number[],
  options: FollowOptions,
): AsyncGenerator<{ uid: number; received: ReceivedMail }> {
  const facts = await fetchFacts(folder, uids);
  const { small = [], large = [] } = Object.groupBy(facts.values(), ({ size = 0 }) =>
    size > MAX_BYTES ? "large" : "small",
  );
  yield* readSmall(folder, small, options);
  for (const message of large) yield* readLarge(folder, message, options);
}

async function fetchFacts({ client }: OpenFolder, uids: number[]): Promise<FetchMessageObject[]> {
  const facts: FetchMessageObject[] = [];
  for await (const message of fetchMails(client, uids, FACTS)) {
    // The others are news of flags.
    if (message.internalDate !== undefined) facts.push(message);
  }
  return facts;
}

async function* readSmall(
  folder: OpenFolder,
  messages: FetchMessageObject[],
  options: FollowOptions,
): ReturnType<typeof readBatch> {
  if (messages.length === 0) return;
  const facts = new Map(messages.map((message) => [message.uid, message]));
  const uids = [...facts.keys()].toSorted((one, other) => one - other);
  for await (const { uid, source } of fetchMails(folder.client, uids, { source: true })) {
    const message = facts.get(uid);
    if (!message || !source) continue;
    const mail = await readMail(source, toFacts(folder, message), options);
    yield { uid, received: { mail, marks: toMarks(folder, message) } };
  }
}

async function* readLarge(
  folder: OpenFolder,
  message: FetchMessageObject,
  options: FollowOptions,
): ReturnType<typeof readBatch> {
  const part = await fetchLarge(folder.client, message.uid);
  if (!part) return;
  const { attachments, source, isCut } = part;
  const mail = await readMail(source, { ...toFacts(folder, message), attachments }, options);
  yield {
    uid: message.uid,
    received: { mail: { ...mail, truncated: mail.truncated || isCut }, marks: toMarks(folder, message) },
  };
}

/** What is read, and how. */
export interface Reading {
  folder: OpenFolder;
  options: FollowOptions;
  tries: Tries;
}

/** What is tried in turn with a mail that a server does not give, each so often. */
const READERS: Reader[] = [readBatch, readEnvelope];
const MAX_TRIES = 5;

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
    const reader = READERS[Math.floor(tries.of(folder, uid) / MAX_TRIES)];
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
