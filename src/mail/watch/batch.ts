import type { MailSettings } from "../../config/types.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Mail, MailBatch, ReceivedMail } from "../source.ts";
import type { MailStore, SetAside, Settlement } from "../store/store.ts";
import { insist, type InsistOptions } from "./backoff.ts";
import { type Dealt, deliver } from "./deliver.ts";
import { type MailAnswer, type PostMails, toRequests } from "./post.ts";
import type { FolderStatus } from "./status.ts";

export interface BatchOptions extends InsistOptions {
  folder: string;
  /** The `source` of what the hook is given. */
  sourceName: string;
  store: MailStore;
  pickFilter: PickFilter;
  inHand: InHand;
  post: PostMails;
  /** Most bytes of a request's body. */
  maxBodyBytes(): number;
  log: Log;
  /** The watch ends: after the post under way no other begins. */
  signal: AbortSignal;
  /** Cuts off a post under way. */
  cutOff: AbortSignal;
  /** Told of each mail once what became of it is written down. */
  onMail(dealt: Dealt, status: FolderStatus): void;
}

/**
 * Posts what a batch holds and is wanted, and writes down what became of it and how far the folder is read. Rejects where
 * the watch ends before; what was dealt with until then is written down.
 */
export async function dealWithBatch(batch: MailBatch, options: BatchOptions): Promise<void> {
  const wanted = pickWanted(batch, options);
  const letGo = await options.inHand.take(wanted.map(({ id }) => id));
  try {
    const fresh = await insist(() => pickFresh(wanted, options.store), options);
    await postFresh(fresh, batch, options);
  } finally {
    letGo();
  }
}

/** Those passed over are not written down: one comes once it is moved out of spam, and nobody's mail keeps another of its id away. */
function pickWanted({ mails }: MailBatch, { folder, pickFilter, status, log }: BatchOptions): Mail[] {
  const wanted: Mail[] = [];
  for (const received of mails) {
    const filter = pickFilter(received);
    if (filter === undefined) {
      wanted.push(received.mail);
    } else {
      status.passOver();
      log.debug("mail passed over", { folder, mailId: received.mail.id, filter });
    }
  }
  return wanted;
}

/** Each mail once, without those that are known. */
function pickFresh(mails: Mail[], store: MailStore): Mail[] {
  const fresh = new Map<string, Mail>();
  for (const mail of mails) {
    if (!fresh.has(mail.id) && !store.isKnown(mail.id)) fresh.set(mail.id, mail);
  }
  return [...fresh.values()];
}

async function postFresh(fresh: Mail[], { position, remaining }: MailBatch, options: BatchOptions): Promise<void> {
  const { status, maxBodyBytes, signal } = options;
  const isBehind = remaining > 0 || status.read().state === "catching-up";
  status.work(isBehind ? "catching-up" : "watching", remaining + fresh.length);

  const requests = toRequests(fresh, maxBodyBytes());
  const last = requests.pop() ?? [];
  for (const mails of requests) {
    await postAndKeep(mails, undefined, options);
    signal.throwIfAborted();
  }
  await postAndKeep(last, position, options);
  status.work(remaining > 0 ? "catching-up" : "watching", remaining);
}

/** `position`: how far the folder is read with these mails. */
async function postAndKeep(mails: Mail[], position: string | undefined, options: BatchOptions): Promise<void> {
  const dealt: Dealt[] = [];
  try {
    if (mails.length > 0) await postAll(mails, dealt, options);
  } catch (error) {
    options.store.settle(toSettlement(dealt, undefined, options));
    tell(dealt, options);
    throw error;
  }
  await insist(() => options.store.settle(toSettlement(dealt, position, options)), options);
  tell(dealt, options);
}

async function postAll(mails: Mail[], dealt: Dealt[], options: BatchOptions): Promise<void> {
  const { sourceName: source, post, backoff, pause, status, cutOff } = options;
  const troubled = ({ error }: MailAnswer, waitMs: number): void => status.enter("service-refuses", { error, waitMs });
  const answered = (): void => status.resume();
  await deliver(mails, dealt, { source, post, backoff, pause, troubled, answered, signal: cutOff });
}

function toSettlement(
  dealt: Dealt[],
  position: string | undefined,
  { folder }: Pick<BatchOptions, "folder">,
): Settlement {
  const setAside = dealt.filter((one) => one.setAside).map(toSetAside);
  return { folder, ids: dealt.map(({ mail }) => mail.id), setAside, position };
}

function toSetAside({ mail: { id }, answer: { status, code, eventId }, tries }: Dealt): SetAside {
  return { id, status, code, eventId, at: Date.now(), tries };
}

function tell(dealt: Dealt[], { folder, status, log, onMail }: BatchOptions): void {
  log.debug("mails dealt with", { folder, count: dealt.length });
  for (const one of dealt) {
    status.count(one);
    if (one.setAside) warn(one, folder, log);
    onMail(one, status.read());
  }
}

/** The event holds the refused request: once its mapping is mended, replaying it is the way to try again. */
function warn({ mail, answer, tries }: Dealt, folder: string, log: Log): void {
  const { status, code, eventId } = answer;
  log.warn("mail set aside: mend the mapping, then `webhooks events replay <eventId>`", {
    folder,
    mailId: mail.id,
    status,
    code,
    eventId,
    tries,
  });
}

type Filter = MailSettings["filter"];

/** The key of `hooks.mail.filter` that passes a mail over; undefined: the mail is wanted. */
export type PickFilter = (received: ReceivedMail) => keyof Filter | undefined;

/** `own`: the mailbox's own addresses, in lower case. */
export function createFilter(filter: Filter, own: readonly string[]): PickFilter {
  const senders = filter.senders && new Set(filter.senders.map((sender) => sender.toLowerCase()));
  const labels = filter.labels && new Set(filter.labels);

  return function pickFilter({ mail, marks }) {
    if (marks.spam && !filter.spam) return "spam";
    if (marks.trash && !filter.trash) return "trash";
    if (marks.draft && !filter.drafts) return "drafts";
    if (!filter.own && own.includes(mail.sender)) return "own";
    if (filter.dmarc && mail.authentication.dmarc?.toLowerCase() !== filter.dmarc) return "dmarc";
    if (labels && !mail.labels.some((label) => labels.has(label))) return "labels";
    if (senders && !senders.has(mail.sender) && !senders.has(domainOf(mail.sender))) return "senders";
    return undefined;
  };
}

/** `@example.com`, as the settings write a domain. */
function domainOf(sender: string): string {
  return sender.slice(Math.max(0, sender.lastIndexOf("@")));
}

/** Which mails the folders have in hand: one that lies in two of them is posted once, and known to the other after that. */
export interface InHand {
  /**
   * Takes the mails of these ids, all at once, as soon as no other folder has any of them. Resolves to what lets go of them;
   * rejects where the watch ends before.
   */
  take(ids: string[]): Promise<() => void>;
}

export function createInHand(signal: AbortSignal): InHand {
  const taken = new Map<string, Promise<void>>();
  return {
    async take(ids) {
      const findOther = (): Promise<void> | undefined => ids.map((id) => taken.get(id)).find(Boolean);
      for (let other = findOther(); other; other = findOther()) await other;
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      for (const id of ids) taken.set(id, promise);
      return function letGo() {
        for (const id of ids) taken.delete(id);
        resolve();
      };
    },
  };
}
