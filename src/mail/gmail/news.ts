import { setTimeout as sleep } from "node:timers/promises";
import type { Pubsub } from "./pubsub.ts";
import { parseNotification } from "./notification.ts";
import { sameAddress } from "./same-address.ts";

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
