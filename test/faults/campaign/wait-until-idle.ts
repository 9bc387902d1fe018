import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../support/client.ts";

const POLL_MS = 200;
/** The longest time without progress. */
const STUCK_MS = 120_000;

/** Waits until all work is executed. Fails if there is no more progress. */
export async function waitUntilIdle(client: Client): Promise<void> {
  let lowest = Infinity;
  let progressAt = Date.now();
  for (;;) {
    const unfinished = await countUnfinished(client);
    if (unfinished === 0) return;
    if (unfinished < lowest) [lowest, progressAt] = [unfinished, Date.now()];
    if (Date.now() - progressAt > STUCK_MS) throw new Error(`${unfinished} are unfinished, without progress`);
    await sleep(POLL_MS);
  }
}

/** Runs and deliveries. Once there are none: the system events that wait for a heartbeat. */
async function countUnfinished(client: Client): Promise<number> {
  const { queue } = await client.api("/api/status");
  const { pendingRuns, pendingDeliveries, pendingSystemEvents } = queue;
  if (pendingRuns + pendingDeliveries > 0) return SYSTEM_EVENTS_ARE_LAST + pendingRuns + pendingDeliveries;
  if (pendingSystemEvents > 0) await client.post("wake", { text: "request a heartbeat" });
  return pendingSystemEvents;
}

/** More than the possible number of system events, so that the count never grows when a run becomes a system event. */
const SYSTEM_EVENTS_ARE_LAST = 1_000_000;
