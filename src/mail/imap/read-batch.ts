import type { FetchMessageObject } from "imapflow";
import { readMail } from "../content/read-mail.ts";
import type { FollowOptions, ReceivedMail } from "../port.ts";
import { fetchLarge } from "./fetch-large.ts";
import { fetchMails } from "./fetch-mails.ts";
import type { OpenFolder } from "./open-folder.ts";
import { FACTS, toFacts, toMarks } from "./to-facts.ts";

/** A larger one is fetched in pieces. */
const MOST_BYTES = 512 * 1024;

/** Reads mails, each as soon as its text is there, in no particular order. One that is gone is left out. Rejects with the library's error. */
export async function* readBatch(
  folder: OpenFolder,
  uids: number[],
  options: FollowOptions,
): AsyncGenerator<{ uid: number; received: ReceivedMail }> {
  const facts = await fetchFacts(folder, uids);
  const { small = [], large = [] } = Object.groupBy(facts.values(), ({ size = 0 }) =>
    size > MOST_BYTES ? "large" : "small",
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
