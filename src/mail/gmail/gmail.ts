import { MailError } from "../../errors.ts";
import { createWakeUp } from "../../shared/async.ts";
import { isSameMailbox } from "../address.ts";
import type { FollowOptions, MailBatch, MailSource } from "../source.ts";
import { createGmailApi, createOAuthClient, type GmailApi } from "./api.ts";
import { withHeaderFallback } from "./fetch.ts";
import { parsePosition, readBacklog, readHistory, startPosition } from "./history.ts";
import type { GmailOptions } from "./options.ts";
import { createPubsub, type Pubsub, pullUntilChange } from "./pubsub.ts";
import { createWatchRenewal, requestWatch, type RenewWatch } from "./watch.ts";

interface Connection {
  api: GmailApi;
  pubsub: Pubsub;
  /** Undefined if nothing receives notifications. */
  renewWatch: RenewWatch | undefined;
}

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
  let connection: Promise<Connection> | undefined;
  const connect = (): Promise<Connection> => (connection ??= createConnection());
  return {
    mailbox: `gmail://${user.toLowerCase()}`,
    addresses: [user.toLowerCase()],
    folders: [FOLDER],
    check,
    follow,
    notify: changes.wake,
  };

  async function createConnection(): Promise<Connection> {
    const auth = await createOAuthClient({ ...oauth });
    const api = withHeaderFallback(await createGmailApi(auth, apiUrl));
    const isNotified = subscription !== undefined || push !== undefined;
    return {
      api,
      pubsub: createPubsub(auth, pubsubUrl),
      renewWatch: topic && isNotified ? createWatchRenewal((signal) => requestWatch(api, topic, signal)) : undefined,
    };
  }

  async function check(signal: AbortSignal): Promise<void> {
    const { api, pubsub, renewWatch } = await connect();
    await checkMailbox(api, user, signal);
    await renewWatch?.(signal);
    if (subscription) await pubsub.check(subscription, signal);
  }

  async function* follow(_folder: string, request: FollowOptions): AsyncGenerator<MailBatch> {
    const { api, pubsub, renewWatch } = await connect();
    const { signal } = request;
    await checkMailbox(api, user, signal);
    let position = parsePosition(request.position) ?? (await startPosition(api, request.since, signal));
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
  const message = `The consent is for ${emailAddress}, but hooks.mail.source.user is ${user}. Run \`webhooks mail setup\` again.`;
  throw new MailError("login", message);
}
