import type { FollowOptions, ReceivedMail } from "../port.ts";
import { fetchMail } from "./fetch-mail.ts";
import type { GmailApi } from "./gmail-api.ts";
import { type Look, look } from "./look.ts";

export interface ReadMails {
  /** In the order of the ids. */
  mails: ReceivedMail[];
  /** All that are still there, those that are not wanted among them. */
  looks: Look[];
}

/** Requests at one time: Gmail refuses those who ask for many mails at once. */
const SIDE_BY_SIDE = 5;

/** Reads mails by Gmail's ids, without those that are known, are not wanted, or are there no more. */
export async function readMails(
  api: GmailApi,
  ids: string[],
  isWanted: (looked: Look) => boolean,
  options: FollowOptions,
): Promise<ReadMails> {
  const { signal, isKnown } = options;
  if (ids.length === 0) return { mails: [], looks: [] };
  const [labels, looks] = await Promise.all([
    api.labels(signal),
    collect(ids, (id) => look(api, id, signal)),
  ]);
  const labelNames = new Map(labels.map(({ id, name }) => [id ?? "", name ?? ""]));
  const wanted = looks.filter((looked) => isWanted(looked) && !(looked.mailId && isKnown(looked.mailId)));
  const mails = await collect(wanted, (looked) => fetchMail(api, looked, { ...options, labelNames }));
  return { mails, looks };
}

/** What `take` gives for each of the values, in their order, without `undefined`. */
async function collect<Value, Taken>(
  values: Value[],
  take: (value: Value) => Promise<Taken | undefined>,
): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (let at = 0; at < values.length; at += SIDE_BY_SIDE) {
    const some = await Promise.all(values.slice(at, at + SIDE_BY_SIDE).map(take));
    taken.push(...some.filter((one) => one !== undefined));
  }
  return taken;
}
