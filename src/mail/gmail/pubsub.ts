import type { OAuth2Client } from "google-auth-library";
import { setTimeout as sleep } from "node:timers/promises";
import { MailError } from "../../errors.ts";
import { isObject, parseObject, toObject } from "../../shared/json.ts";
import { isSameMailbox } from "../address.ts";
import { toMailError } from "./errors.ts";

/** Pub/Sub's REST API. Everything rejects with a `MailError`. */
export interface Pubsub {
  /** Returns and acknowledges waiting messages. Empty if none arrives in time. */
  pull(subscription: string, timeoutMs: number, signal: AbortSignal): Promise<unknown[]>;
  /** Rejects unless the subscription can be pulled. */
  check(subscription: string, signal: AbortSignal): Promise<void>;
}

interface PostOptions {
  signal: AbortSignal;
  /** Milliseconds. */
  timeout?: number;
}

const GOOGLE = "https://pubsub.googleapis.com";
const MAX_MESSAGES = 100;
/** Pub/Sub usually holds a pull until there is a message, but does not promise it. */
const PAUSE_MS = 1000;
const PULL_PERMISSION = "pubsub.subscriptions.consume";

export function createPubsub(auth: OAuth2Client, url: string = GOOGLE): Pubsub {
  return { pull, check };

  async function post(path: string, body: object, options: PostOptions): Promise<Record<string, unknown>> {
    const { data } = await auth.request<unknown>({
      url: new URL(`/v1/${path}`, url),
      method: "POST",
      data: body,
      ...options,
    });
    return toObject(data);
  }

  async function pull(subscription: string, timeoutMs: number, signal: AbortSignal): Promise<unknown[]> {
    // By a signal of our own: the library would treat its own timeout as a failure.
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const { receivedMessages } = await post(
        `${subscription}:pull`,
        { maxMessages: MAX_MESSAGES },
        { timeout: 2 * timeoutMs, signal: AbortSignal.any([signal, timeout]) },
      );
      const received = Array.isArray(receivedMessages) ? receivedMessages.filter(isObject) : [];
      const ackIds = received.map(({ ackId }) => ackId);
      // Messages may be lost: they only say when to read the history, and every start reads it anyway.
      if (ackIds.length > 0) await post(`${subscription}:acknowledge`, { ackIds }, { signal });
      return received.map(({ message }) => message);
    } catch (error) {
      if (timeout.aborted && !signal.aborted) return [];
      throw toMailError(error, `pull ${subscription}`);
    }
  }

  async function check(subscription: string, signal: AbortSignal): Promise<void> {
    const path = `${subscription}:testIamPermissions`;
    const { permissions } = await post(path, { permissions: [PULL_PERMISSION] }, { signal }).catch((error: unknown) => {
      throw toMailError(error, `check ${subscription}`);
    });
    if (Array.isArray(permissions) && permissions.includes(PULL_PERMISSION)) return;
    // Google does not tell a missing subscription from a forbidden one.
    const advice = "Check hooks.mail.source.subscription, and that the consent is of a user who may pull it.";
    throw new MailError("login", `The subscription ${subscription} does not exist or may not be pulled. ${advice}`);
  }
}

/** Resolves when a message says that the user's mailbox has changed, or after the time. Rejects with a `MailError`. */
export async function pullUntilChange(
  pubsub: Pubsub,
  { subscription, user, timeoutMs }: { subscription: string; user: string; timeoutMs: number },
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (let leftMs = timeoutMs; leftMs > 0; leftMs = Math.floor(until - performance.now())) {
    const messages = await pubsub.pull(subscription, leftMs, signal);
    if (messages.some((message) => announcesChange(message, user))) return;
    if (messages.length === 0) await sleep(PAUSE_MS, undefined, { signal });
  }
}

/** Whether a message of Pub/Sub is Gmail's notification that this user's mailbox has changed. */
export function announcesChange(message: unknown, user: string): boolean {
  const data = isObject(message) ? message.data : undefined;
  const { emailAddress } = parseObject(typeof data === "string" ? Buffer.from(data, "base64").toString() : "");
  return typeof emailAddress === "string" && isSameMailbox(emailAddress, user);
}
