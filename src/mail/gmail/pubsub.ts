import type { OAuth2Client } from "google-auth-library";
import { isObject } from "../../config/is-object.ts";
import { toMailError } from "./to-mail-error.ts";

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

const MOST_MESSAGES = 100;

export function createPubsub({ auth, url = GOOGLE }: PubsubOptions): Pubsub {
  return { call, pull };

  async function call({
    method,
    path,
    body,
    timeoutMs,
    signal,
  }: PubsubCall): Promise<Record<string, unknown>> {
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
      const body = { maxMessages: MOST_MESSAGES };
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
