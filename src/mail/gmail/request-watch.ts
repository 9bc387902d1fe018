import { MailError } from "../../errors.ts";
import type { GmailApi } from "./gmail-api.ts";
import { readGoogleError } from "./google-error.ts";

/** Who publishes for Gmail. */
export const GMAIL_PUBLISHER = "serviceAccount:gmail-api-push@system.gserviceaccount.com";
export const PUBLISHER_ROLE = "roles/pubsub.publisher";

/**
 * Has Gmail announce the mailbox's changes on a topic. Resolves with when that ends, in milliseconds since the epoch; rejects with a
 * `MailError`.
 */
export async function requestWatch(api: GmailApi, topic: string, signal: AbortSignal): Promise<number> {
  try {
    const { expiration } = await api.watch(topic, signal);
    return Number(expiration) || 0;
  } catch (error) {
    throw toTopicError(error, topic);
  }
}

/** Gmail tries the topic at once: what it says of it is an operator's to mend. */
function toTopicError(error: unknown, topic: string): unknown {
  if (!(error instanceof MailError) || !/topic|pubsub/i.test(error.message)) return error;
  const advice: Record<number, string> = {
    400: `The topic ${topic} must be in the Google Cloud project of the OAuth client.`,
    403: `On the topic ${topic}, ${GMAIL_PUBLISHER} needs the role ${PUBLISHER_ROLE}.`,
    404: `The topic ${topic} is not there: run \`webhooks mail setup\`, or create it.`,
  };
  const said = advice[readGoogleError(error.cause).status ?? 0];
  return said ? new MailError("login", `${error.message} ${said}`, { cause: error.cause }) : error;
}
