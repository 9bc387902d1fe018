import { MailError } from "../../core/errors.ts";
import { createWakeUp, DAY_MS } from "../../core/shared/time.ts";
import { isSameMailbox } from "../message/addresses.ts";
import { GOOGLE_AUTHSERV_ID } from "../message/authentication.ts";
import { parseFileId } from "../message/file-id.ts";
import type { GmailOptions } from "../options.ts";
import type { FollowOptions, MailBatch, MailSource } from "../../core/ports/mail-source.ts";
import { createGmailApi, type GmailApi } from "./api.ts";
import { readFile, withFallback } from "./download.ts";
import { createGoogle, readGoogleError } from "./google.ts";
import { parsePosition, readBacklog, readHistory, startPosition } from "./history.ts";
import { createPubsub, pullUntilChange } from "./pubsub.ts";

/** Gmail has labels instead of folders. */
const FOLDER = "mailbox";
/** How often the history is read without a notification. */
const POLL_MS = 60_000;

/**
 * Follows a mailbox by Gmail's API. The history says what arrived; notifications only say when to read it, so that a lost one delays
 * mail until the next poll.
 */
export function createGmail(options: GmailOptions, pollMs = POLL_MS): MailSource {
  const { user, oauth, topic, subscription, push, apiUrl, pubsubUrl } = options;
  const changes = createWakeUp();
  const google = createGoogle(oauth);
  const api = withFallback(createGmailApi(google, apiUrl));
  const pubsub = createPubsub(google, pubsubUrl);
  const isNotified = subscription !== undefined || push !== undefined;
  const renewWatch = topic && isNotified ? createWatchRenewal((signal) => requestWatch(api, topic, signal)) : undefined;
  return {
    mailbox: `gmail://${user.toLowerCase()}`,
    addresses: [user.toLowerCase()],
    folders: [FOLDER],
    check,
    follow,
    readFile: async (id, limits) => readFile(api, parseFileId(id), limits),
    notify: changes.wake,
  };

  async function check(signal: AbortSignal): Promise<void> {
    await checkMailbox(api, user, signal);
    await renewWatch?.(signal);
    if (subscription) await pubsub.check(subscription, signal);
  }

  async function* follow(_folder: string, given: FollowOptions): AsyncGenerator<MailBatch> {
    const { signal, authservId = GOOGLE_AUTHSERV_ID } = given;
    const request = { ...given, authservId };
    await checkMailbox(api, user, signal);
    let position = parsePosition(request.position) ?? (await startPosition(api, request));
    while (!signal.aborted) {
      const { backlog } = position;
      const batches = backlog
        ? readBacklog(api, { ...position, backlog }, request)
        : readHistory(api, position, request);
      for await (const batch of batches) {
        position = batch.position;
        yield { ...batch, position: JSON.stringify(position) };
      }
      // After a new watch the history is read once more: earlier changes may not have been announced.
      if (position.backlog || (await renewWatch?.(signal))) continue;
      if (subscription) await pullUntilChange(pubsub, { subscription, user, timeoutMs: pollMs }, signal);
      else await changes.wait(pollMs, signal);
      changes.reset();
    }
  }
}

/** Rejects with a `MailError` unless the consent opens this user's mailbox. */
async function checkMailbox(api: GmailApi, user: string, signal: AbortSignal): Promise<void> {
  const { emailAddress } = await api.profile(signal);
  if (!emailAddress) throw new MailError("network", "Google: the answer is not Gmail's.");
  if (isSameMailbox(emailAddress, user)) return;
  const message = `The consent is for ${emailAddress}, but hooks.mail.source.user is ${user}. Run \`npx hookline mail setup\` again.`;
  throw new MailError("login", message);
}

/**
 * Renews Gmail's watch of a mailbox if it is due. Resolves with whether it did: earlier changes may not have been announced. Rejects
 * with a `MailError` if no watch is left.
 */
type RenewWatch = (signal: AbortSignal) => Promise<boolean>;

/** Google recommends a renewal once a day. A watch lasts seven days at present. */
const RENEW_MS = DAY_MS;
const MIN_RENEW_MS = 60_000;
/** The wait after a failure, as long as the watch lasts. */
const RETRY_MS = 600_000;

/** `watch` resolves with the end of the new watch, in milliseconds since the epoch. */
export function createWatchRenewal(watch: (signal: AbortSignal) => Promise<number>): RenewWatch {
  let endsAt = 0;
  let dueAt = 0;
  let renewing: Promise<boolean> | undefined;
  return async function renewIfDue(signal) {
    if (Date.now() < dueAt) return false;
    renewing ??= renew(signal).finally(() => (renewing = undefined));
    return renewing;
  };

  async function renew(signal: AbortSignal): Promise<boolean> {
    try {
      endsAt = await watch(signal);
      const halfMs = (endsAt - Date.now()) / 2;
      dueAt = Date.now() + Math.max(MIN_RENEW_MS, Math.min(RENEW_MS, halfMs));
      return true;
    } catch (error) {
      const isTemporary = error instanceof MailError && error.kind === "network";
      if (!isTemporary || endsAt < Date.now() + 2 * RETRY_MS) throw error;
      dueAt = Date.now() + RETRY_MS;
      return false;
    }
  }
}

/** The account that publishes for Gmail. */
const GMAIL_PUBLISHER = "serviceAccount:gmail-api-push@system.gserviceaccount.com";
const PUBLISHER_ROLE = "roles/pubsub.publisher";

/** Makes Gmail announce changes on a topic. Resolves with the end, in milliseconds since the epoch. Rejects with a `MailError`. */
async function requestWatch(api: GmailApi, topic: string, signal: AbortSignal): Promise<number> {
  try {
    return Number((await api.watch(topic, signal)).expiration) || 0;
  } catch (error) {
    // Gmail tests the topic at once.
    if (!(error instanceof MailError) || !/topic|pubsub/i.test(error.message)) throw error;
    const advice: Record<number, string> = {
      400: `The topic ${topic} must be in the Google Cloud project of the OAuth client.`,
      403: `On the topic ${topic}, ${GMAIL_PUBLISHER} needs the role ${PUBLISHER_ROLE}.`,
      404: `The topic ${topic} does not exist: create it with \`gcloud pubsub topics create\`.`,
    };
    const sentence = advice[readGoogleError(error.cause).status ?? 0];
    throw sentence ? new MailError("login", `${error.message} ${sentence}`, { cause: error.cause }) : error;
  }
}
