import type { ClaimedDelivery, ClaimedRun, Journal } from "../../src/core/journal/journal.ts";
import { MAIN_SESSION } from "../../src/core/types.ts";
import { toEvent } from "./event.ts";

/** Accepts the events with these numbers, this many concurrently. */
export async function acceptEvents(
  journal: Journal,
  { from, count, inFlight }: { from: number; count: number; inFlight: number },
): Promise<void> {
  let next = from;
  const end = from + count;
  const workers = Array.from({ length: inFlight }, async () => {
    while (next < end) await journal.accept(toEvent(next++));
  });
  await Promise.all(workers);
}

/**
 * Claims up to this many runs and executes them, like the dispatcher, and then the deliveries. Returns the number of runs.
 * `delivers: false`: without deliveries. `hasEntries: false`: without entries.
 */
export async function executeAll(
  journal: Journal,
  limit: number,
  { delivers = true, hasEntries = true } = {},
): Promise<number> {
  const now = Date.now();
  const runs = await journal.claimRuns(limit, now);
  await Promise.all(runs.map((run) => complete(journal, run, { at: now, delivers, hasEntries })));
  if (!delivers) return runs.length;
  const deliveries = await journal.claimDeliveries(limit, now);
  await Promise.all(deliveries.map((delivery) => finish(journal, delivery, now)));
  return runs.length;
}

/** With the entries and the delivery of a turn. */
async function complete(
  journal: Journal,
  run: ClaimedRun,
  { at, delivers, hasEntries }: { at: number; delivers: boolean; hasEntries: boolean },
): Promise<void> {
  const { id: runId, eventId, sessionKey } = run;
  const own = { at, eventId, runId };
  await journal.completeRun(run, {
    finishedAt: at,
    reply: "Done.",
    warnings: [],
    entries: hasEntries
      ? [
          { ...own, sessionKey, role: "user", text: "Look at this. ".repeat(20) },
          { ...own, sessionKey, role: "assistant", text: "Done." },
          { ...own, sessionKey: MAIN_SESSION, role: "system", text: "Hook github: Done.", pending: true },
        ]
      : [],
    deliveries: delivers ? [{ id: `${runId}-0`, runId, eventId, channel: "slack", to: sessionKey, text: "Done." }] : [],
  });
}

async function finish(journal: Journal, delivery: ClaimedDelivery, at: number): Promise<void> {
  const route = { channel: "slack", to: delivery.to ?? "" } as const;
  await journal.finishDelivery(delivery, { state: "sent", at, route, partsSent: 1 });
}
