import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../errors.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Log } from "../../telemetry/log.ts";
import type { FindSent } from "./continued.ts";

interface SentMessagesOptions {
  journal: Pick<Journal, "wasSent" | "findSent">;
  current(): Runtime;
  log: Log;
}

/** Recognizes messages of this service in events. */
interface SentMessages {
  /** Whether a delivery sent the message within `hooks.dedupeWindow`. */
  isDelivered(messageId: string, channel: string | undefined): Promise<boolean>;
  /** Finds messages by the ids of an event, or by the first message of their thread where only the service knows it. */
  createFindSent(channels: Runtime["channels"]): FindSent;
}

export function createSentMessages({ journal, current, log }: SentMessagesOptions): SentMessages {
  return {
    /** A service may send its event before it answers the delivery, so a delivery that is being sent is waited for. */
    async isDelivered(messageId, channel) {
      for (let waitedMs = 0; waitedMs < ECHO_WAIT_MS; waitedMs += ECHO_STEP_MS) {
        const since = Date.now() - current().config.hooks.dedupeWindowMs;
        const wasSent = await journal.wasSent(messageId, since, channel);
        if (wasSent !== undefined) return wasSent;
        await sleep(ECHO_STEP_MS);
      }
      return false;
    },

    createFindSent: (channels) => async (channel, ids) => {
      for (const id of ids) {
        const sent = await journal.findSent(channel, id);
        if (sent) return { sent };
      }
      const driver = channels.get(channel);
      if (!driver?.findRoot) return {};
      try {
        for (const id of ids) {
          const root = await driver.findRoot(id, AbortSignal.timeout(ROOT_WAIT_MS));
          const sent = root === undefined || root === id ? undefined : await journal.findSent(channel, root);
          if (sent) return { sent };
        }
        return {};
      } catch (error) {
        log.warn("a thread was not looked up", { step: "mapping", channel, error: messageOf(error) });
        return {
          warning: `${channel} was not asked for the thread, so the session is that of the mapping: ${messageOf(error)}`,
        };
      }
    },
  };
}

/** The sender waits for the answer meanwhile. */
const ROOT_WAIT_MS = 2000;

/** Senders wait three seconds for the answer. */
const ECHO_WAIT_MS = 1000;
const ECHO_STEP_MS = 50;
