import { MailError } from "../../errors.ts";
import type { GmailApi } from "./api.ts";
import { readGoogleError } from "./errors.ts";

/** Keeps Gmail's watch of a mailbox alive: it ends by itself after some days. */
export interface WatchRenewal {
  /**
   * Renews the watch where it is time, once for all who ask. Resolves with whether it did: what came before was perhaps not
   * announced. Rejects with a `MailError` where none holds any more.
   */
  keep(signal: AbortSignal): Promise<boolean>;
}

/** `watch` asks Gmail, and gives when the watch ends, in milliseconds since the epoch. */
export type RequestWatch = (signal: AbortSignal) => Promise<number>;

interface State {
  /** Milliseconds since the epoch, as is `dueAt`. Zero: it is not known whether there is one. */
  endsAt: number;
  dueAt: number;
  failures: number;
  renewing: Promise<boolean> | undefined;
}

/** Google asks for a renewal once a day; seven days is how long a watch holds today. */
const RENEW_AFTER_MS = 24 * 3_600_000;

const FIRST_WAIT_MS = 60_000;
const MAX_WAIT_MS = 3_600_000;

export function createWatchRenewal(watch: RequestWatch): WatchRenewal {
  const state: State = { endsAt: 0, dueAt: 0, failures: 0, renewing: undefined };
  return {
    async keep(signal) {
      if (Date.now() < state.dueAt) return false;
      state.renewing ??= renew(state, watch, signal).finally(() => (state.renewing = undefined));
      return state.renewing;
    },
  };
}

async function renew(state: State, watch: RequestWatch, signal: AbortSignal): Promise<boolean> {
  try {
    state.endsAt = await watch(signal);
  } catch (error) {
    putOff(state, error);
    return false;
  }
  state.failures = 0;
  const halfMs = (state.endsAt - Date.now()) / 2;
  state.dueAt = Date.now() + Math.max(FIRST_WAIT_MS, Math.min(RENEW_AFTER_MS, halfMs));
  return true;
}

/** While the watch still holds, what fails for a moment is tried again later. */
function putOff(state: State, error: unknown): void {
  const passing = error instanceof MailError && error.kind === "network";
  if (!passing || state.endsAt < Date.now() + MAX_WAIT_MS) throw error;
  state.dueAt = Date.now() + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** state.failures);
  state.failures += 1;
}

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
