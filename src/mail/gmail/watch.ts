import { MailError } from "../../errors.ts";
import type { GmailApi } from "./api.ts";
import { readGoogleError } from "./errors.ts";

/**
 * Renews Gmail's watch of a mailbox if it is due. Resolves with whether it did: earlier changes may not have been announced. Rejects
 * with a `MailError` if no watch is left.
 */
export type RenewWatch = (signal: AbortSignal) => Promise<boolean>;

/** Google recommends a renewal once a day. A watch lasts seven days at present. */
const RENEW_MS = 24 * 3_600_000;
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
export async function requestWatch(api: GmailApi, topic: string, signal: AbortSignal): Promise<number> {
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
