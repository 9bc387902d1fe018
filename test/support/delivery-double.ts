import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";

/** A message as it arrived. */
export interface Arrival {
  to: string;
  text: string;
  /** Which life of the service sent it: grows with each `beginLife`. */
  life: number;
}

export interface DeliveryDouble {
  /** What `channels.slack.baseUrl` is set to. */
  baseUrl: string;
  /** Oldest first. */
  arrivals: Arrival[];
  /** The service is started anew: what arrives from now on comes from that start. */
  beginLife(): void;
  close(): Promise<void>;
}

/**
 * Takes Slack's `chat.postMessage` and keeps every message from the moment it arrives. It answers `delayMs()` later, so
 * that a fault can fall between a message and the record of it.
 */
export async function startDeliveryDouble(delayMs: () => number): Promise<DeliveryDouble> {
  const arrivals: Arrival[] = [];
  let life = 0;
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    arrivals.push({ to: form.get("channel") ?? "", text: form.get("text") ?? "", life });
    await sleep(delayMs());
    const answer = { ok: true, channel: form.get("channel"), ts: String(arrivals.length) };
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The double has no port.");
  return {
    baseUrl: `http://127.0.0.1:${address.port}/api/`,
    arrivals,
    beginLife: () => void (life += 1),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
