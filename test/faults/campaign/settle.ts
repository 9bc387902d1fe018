import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../support/client.ts";

const LOOK_EVERY_MS = 200;
/** How long the service may make no headway. */
const STUCK_MS = 60_000;

/** Waits until nothing is left to be carried out, for as long as less and less is left. */
export async function settle(client: Client): Promise<void> {
  let least = Infinity;
  let progressAt = Date.now();
  for (;;) {
    const left = await countLeft(client);
    if (left === 0) return;
    if (left < least) [least, progressAt] = [left, Date.now()];
    if (Date.now() - progressAt > STUCK_MS) throw new Error(`${left} are left, and none is carried out`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** Runs and deliveries; then, once there are none, the system events that still wait for a heartbeat. */
async function countLeft(client: Client): Promise<number> {
  const { queue } = await client.api("/api/status");
  const { pendingRuns, pendingDeliveries, pendingSystemEvents } = queue;
  if (pendingRuns + pendingDeliveries > 0) return SYSTEM_EVENTS_ARE_LAST + pendingRuns + pendingDeliveries;
  if (pendingSystemEvents > 0) await client.post("wake", { text: "what came since?" });
  return pendingSystemEvents;
}

/** More than there can be: so what is left never grows while the one kind turns into the other. */
const SYSTEM_EVENTS_ARE_LAST = 1_000_000;
