import type { MailSettings } from "../../core/config/resolved-config.ts";
import { messageOf } from "../../core/errors.ts";
import { backoffMs } from "../../core/shared/time.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { isSameMailbox } from "../message/addresses.ts";
import type { Mail, MailBatch, ReceivedMail } from "../../core/ports/mail-source.ts";
import type { FolderStatus } from "../../core/ports/mail-status.ts";
import type { MailStore, RejectedMail } from "../store.ts";
import { deliver, type DeliverContext, type ProcessedMail, toRequests } from "./deliver.ts";

export interface BatchContext extends DeliverContext {
  folder: string;
  store: MailStore;
  findFilter: FindFilter;
  acquire: Acquire;
  /** The largest request body that the service accepts. */
  maxBodyBytes(): number;
  log: Log;
  /** Ends the watch: a request in flight is finished, no further one begins. */
  signal: AbortSignal;
  /** Called for each mail after its result is stored. */
  onMail(mail: ProcessedMail, status: FolderStatus): void;
}

/**
 * Posts the wanted mails of a batch, and stores the results and the folder's position. Rejects if the watch ends first; the
 * results so far are then stored.
 */
export async function processBatch(batch: MailBatch, context: BatchContext): Promise<void> {
  const wanted = batch.mails.filter((received) => isWanted(received, context)).map(({ mail }) => mail);
  const release = await context.acquire(wanted.map(({ id }) => id));
  try {
    const fresh = await retryStore(() => withoutKnown(wanted, context), context);
    await postFresh(fresh, batch, context);
  } finally {
    release();
  }
}

/** A skipped mail is not stored: it is posted if it is later moved out of spam, and it does not block another mail with its id. */
function isWanted(received: ReceivedMail, { folder, findFilter, status, log }: BatchContext): boolean {
  const filter = findFilter(received);
  if (filter === undefined) return true;
  status.count("passedOver");
  log.debug("mail skipped by filter", { folder, mailId: received.mail.id, filter });
  return false;
}

/** Each mail once, without those that were processed before. */
async function withoutKnown(mails: Mail[], { folder, store, status, log }: BatchContext): Promise<Mail[]> {
  const known = await store.findKnown(mails.map(({ id }) => id));
  const fresh = new Map<string, Mail>();
  for (const mail of mails) {
    if (!fresh.has(mail.id) && !known.has(mail.id)) {
      fresh.set(mail.id, mail);
    } else {
      status.count("repeated");
      log.info("mail skipped: it was processed before", { folder, mailId: mail.id });
    }
  }
  return [...fresh.values()];
}

async function postFresh(
  fresh: Mail[],
  { mails: { length: given }, position, remaining }: MailBatch,
  context: BatchContext,
): Promise<void> {
  const { status, maxBodyBytes, signal } = context;
  const isBehind = remaining > 0 || status.read().state === "catching-up";
  status.setWork(isBehind ? "catching-up" : "watching", remaining + fresh.length, given);

  const requests = toRequests(fresh, maxBodyBytes());
  const last = requests.pop() ?? [];
  for (const mails of requests) {
    await postAndStore(mails, undefined, context);
    signal.throwIfAborted();
  }
  await postAndStore(last, position, context);
  status.setWork(remaining > 0 ? "catching-up" : "watching", remaining, given);
}

/** `position`: how far the folder is read after these mails. */
async function postAndStore(mails: Mail[], position: string | undefined, context: BatchContext): Promise<void> {
  const { folder, store } = context;
  const processed: ProcessedMail[] = [];
  const record = (reached?: string): Promise<void> => {
    const setAside = processed.filter((mail) => mail.setAside).map(toRejectedMail);
    return store.record({ folder, ids: processed.map(({ mail }) => mail.id), setAside, position: reached });
  };
  try {
    if (mails.length > 0) for await (const mail of deliver(mails, context)) processed.push(mail);
  } catch (error) {
    await record();
    report(processed, context);
    throw error;
  }
  await retryStore(() => record(position), context);
  report(processed, context);
}

function toRejectedMail({
  mail: { id },
  response: { status, code, eventId },
  attempts: tries,
}: ProcessedMail): RejectedMail {
  return { id, status, code, eventId, at: Date.now(), tries };
}

function report(processed: ProcessedMail[], { folder, status, log, onMail }: BatchContext): void {
  log.debug("mails processed", { folder, count: processed.length });
  for (const one of processed) {
    const { mail, response, attempts: tries, setAside, repeated } = one;
    status.countMail(one);
    if (repeated) log.info("mail skipped by the hook: it was posted before", { folder, mailId: mail.id });
    if (setAside) {
      const { status: httpStatus, code, eventId } = response;
      // The event holds the rejected request, so it can be replayed once the mapping is fixed.
      log.warn("mail set aside: fix the mapping, then `npx hookline events replay <eventId>`", {
        folder,
        mailId: mail.id,
        status: httpStatus,
        code,
        eventId,
        tries,
      });
    }
    onMail(one, status.read());
  }
}

type Filter = MailSettings["filter"];

/** The key of `hooks.mail.filter` that excludes a mail; undefined: the mail is wanted. */
export type FindFilter = (received: ReceivedMail) => keyof Filter | undefined;

/** `own`: the mailbox's own addresses, in lower case. */
export function createFilter(filter: Filter, own: readonly string[]): FindFilter {
  const senders = filter.senders && new Set(filter.senders.map((sender) => sender.toLowerCase()));
  const labels = filter.labels && new Set(filter.labels);

  return function findFilter({ mail, marks }) {
    if (marks.spam && !filter.spam) return "spam";
    if (marks.trash && !filter.trash) return "trash";
    if (marks.draft && !filter.drafts) return "drafts";
    if (!filter.own && (marks.own || own.some((address) => isSameMailbox(mail.sender, address)))) return "own";
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

/** Waits until no other folder has any of these ids, and takes them. Resolves to `release`; rejects when the watch ends. */
type Acquire = (ids: string[]) => Promise<() => void>;

/** The ids that the folders are processing: a mail in two folders is posted by one, and then known to the other. */
export function createInFlight(signal: AbortSignal): Acquire {
  const taken = new Map<string, Promise<void>>();
  return async function acquire(ids) {
    const findOther = (): Promise<void> | undefined => ids.map((id) => taken.get(id)).find(Boolean);
    for (let other = findOther(); other; other = findOther()) await other;
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const id of ids) taken.set(id, promise);
    return function release() {
      for (const id of ids) taken.delete(id);
      resolve();
    };
  };
}

/** Calls the store until it works, since a full disk may have space again later. Rejects when the watch ends. */
export async function retryStore<Result>(
  call: () => Promise<Result>,
  { status, backoff, pause }: DeliverContext,
): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      const result = await call();
      if (attempts > 1) status.resume();
      return result;
    } catch (error) {
      const waitMs = backoffMs(attempts, backoff);
      status.enter("store-failed", { error: `the mail store: ${messageOf(error)}`, waitMs });
      await pause(waitMs);
    }
  }
}
