import type { OAuth2Client } from "google-auth-library";
import { setTimeout as sleep } from "node:timers/promises";
import { MailError } from "../../errors.ts";
import { isObject } from "../../shared/json.ts";
import { toMailError } from "./errors.ts";
import { sameAddress } from "./settings.ts";

/** Tells when it is time to read the history: at the latest after a while, since no notification is sure to come. */
export interface News {
  /** Resolves once the mailbox may have changed. Rejects where it is aborted, or with a `MailError`. */
  wait(signal: AbortSignal): Promise<void>;
  /** Ends the wait that is under way, or the next one. */
  ring(): void;
}

export interface NewsOptions {
  user: string;
  /** Longest wait, in milliseconds. */
  pollMs: number;
  /** What is pulled meanwhile. Absent: only `ring` ends a wait before its time. */
  pulled?: { pubsub: Pubsub; subscription: string };
}

const PAUSE_MS = 1000;

export function createNews({ user, pollMs, pulled }: NewsOptions): News {
  let bell = new AbortController();
  return {
    async wait(signal) {
      const wake = AbortSignal.any([signal, bell.signal]);
      try {
        await (pulled ? pullUntilNews(pulled, wake) : sleep(pollMs, undefined, { signal: wake }));
      } catch (error) {
        if (signal.aborted || !bell.signal.aborted) throw error;
      }
      if (bell.signal.aborted) bell = new AbortController();
    },
    ring: () => bell.abort(),
  };

  async function pullUntilNews(
    { pubsub, subscription }: NonNullable<NewsOptions["pulled"]>,
    signal: AbortSignal,
  ): Promise<void> {
    const until = performance.now() + pollMs;
    for (let leftMs = pollMs; leftMs > 0; leftMs = Math.floor(until - performance.now())) {
      const messages = await pubsub.pull(subscription, leftMs, signal);
      if (messages.some(isOurs)) return;
      // Pub/Sub holds a pull until there is something, as a rule, but it does not promise to.
      if (messages.length === 0) await sleep(PAUSE_MS, undefined, { signal });
    }
  }

  function isOurs(message: unknown): boolean {
    const notification = parseNotification(message);
    return notification !== undefined && sameAddress(notification.emailAddress, user);
  }
}

/** Pub/Sub's REST API. */
export interface Pubsub {
  /** One request below `/v1/`. Rejects with what Google's library throws. */
  call(call: PubsubCall): Promise<Record<string, unknown>>;
  /** Takes what waits in a subscription, or waits for it as long as it may: none is no error. Rejects with a `MailError`. */
  pull(subscription: string, timeoutMs: number, signal: AbortSignal): Promise<unknown[]>;
}

export interface PubsubCall {
  method: "GET" | "PUT" | "POST";
  path: string;
  body?: object;
  timeoutMs?: number;
  signal: AbortSignal;
}

export interface PubsubOptions {
  auth: OAuth2Client;
  /** Where it is. Default: Google's own. */
  url: string | undefined;
}

const GOOGLE = "https://pubsub.googleapis.com";

const MAX_MESSAGES = 100;

export function createPubsub({ auth, url = GOOGLE }: PubsubOptions): Pubsub {
  return { call, pull };

  async function call({ method, path, body, timeoutMs, signal }: PubsubCall): Promise<Record<string, unknown>> {
    const { data } = await auth.request<unknown>({
      url: new URL(`/v1/${path}`, url),
      method,
      ...(body && { data: body }),
      ...(timeoutMs !== undefined && { timeout: timeoutMs }),
      signal,
    });
    return isObject(data) ? data : {};
  }

  async function pull(subscription: string, timeoutMs: number, signal: AbortSignal): Promise<unknown[]> {
    // The limit is of the signal, not of the call: the library would take it for a fault.
    const timeLimit = AbortSignal.timeout(timeoutMs);
    try {
      const path = `${subscription}:pull`;
      const body = { maxMessages: MAX_MESSAGES };
      const { receivedMessages } = await call({
        method: "POST",
        path,
        body,
        timeoutMs: 2 * timeoutMs,
        signal: AbortSignal.any([signal, timeLimit]),
      });
      const received = Array.isArray(receivedMessages) ? receivedMessages.filter(isObject) : [];
      await acknowledge(subscription, received, signal);
      return received.map(({ message }) => message);
    } catch (error) {
      if (timeLimit.aborted && !signal.aborted) return [];
      throw toMailError(error, `pull ${subscription}`);
    }
  }

  /** Before anything is done about them: each start reads the history anyway, which is the truth; they say only that it is time. */
  async function acknowledge(
    subscription: string,
    received: Record<string, unknown>[],
    signal: AbortSignal,
  ): Promise<void> {
    const ackIds = received.map(({ ackId }) => ackId);
    if (ackIds.length === 0) return;
    await call({ method: "POST", path: `${subscription}:acknowledge`, body: { ackIds }, signal });
  }
}

/** What Gmail publishes: this mailbox has changed. */
export interface Notification {
  emailAddress: string;
}

/** Reads the `message` of Pub/Sub that Gmail's words stand in; undefined where they do not. */
export function parseNotification(message: unknown): Notification | undefined {
  const data = isObject(message) ? message.data : undefined;
  if (typeof data !== "string") return undefined;
  try {
    const said: unknown = JSON.parse(Buffer.from(data, "base64").toString());
    const emailAddress = isObject(said) ? said.emailAddress : undefined;
    return typeof emailAddress === "string" ? { emailAddress } : undefined;
  } catch {
    return undefined;
  }
}

const PULL = "pubsub.subscriptions.consume";

/** Rejects with a `MailError` unless the subscription is there and may be pulled. Takes nothing from it. */
export async function requireSubscription(pubsub: Pubsub, subscription: string, signal: AbortSignal): Promise<void> {
  const { permissions } = await pubsub
    .call({
      method: "POST",
      path: `${subscription}:testIamPermissions`,
      body: { permissions: [PULL] },
      signal,
    })
    .catch((error: unknown) => {
      throw toMailError(error, `look at ${subscription}`);
    });
  if (Array.isArray(permissions) && permissions.includes(PULL)) return;
  // Google answers the same for both: what someone may not see is not there for them.
  const message = `The subscription ${subscription} is not there, or may not be pulled. Check hooks.mail.source.subscription, or run \`webhooks mail setup\` again.`;
  throw new MailError("login", message);
}
