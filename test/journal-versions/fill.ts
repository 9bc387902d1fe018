import type { Journal } from "../../src/journal/journal.ts";
import {
  NOW,
  sampleDelivery,
  sampleEntry,
  sampleEvent,
  sampleKeys,
  sampleOutcome,
  sampleRun,
  sampleWake,
} from "../contracts/journal/samples.ts";

const ROUTE = { channel: "slack", to: "C1" } as const;

/** Something in every state: a session `done`, and `running`, `waiting`, `dead`, `undelivered` and `failed` as their names say. */
export async function fill(journal: Journal): Promise<void> {
  await addDone(journal);
  await addDead(journal);
  await addUndelivered(journal);
  const wake = sampleEvent({ hook: "wake", mapping: undefined, actions: [] });
  wake.actions.push(sampleWake("It's full.", wake.id));
  await journal.accept(wake);
  for (const status of ["skipped", "rejected", "failed"] as const) {
    const failure = status === "skipped" ? undefined : { code: "refused", message: "No." };
    await journal.accept(sampleEvent({ status, actions: [], failure }));
  }
  await journal.accept(
    sampleEvent({
      actions: [sampleRun("running"), sampleRun("running"), sampleRun("waiting")],
      idempotency: sampleKeys(["known"], { expiresAt: NOW + 1_000_000 }),
      log: [{ level: "warn", text: "odd" }],
      warnings: ["one"],
    }),
  );
  const claimed = await journal.claimRuns(10, NOW);
  const waiting = claimed.find(({ sessionKey }) => sessionKey === "waiting");
  await journal.retryRun(waiting?.id ?? "", NOW + 5000, "busy");
}

async function addDone(journal: Journal): Promise<void> {
  const { eventId, runId } = await claimOne(journal, "done");
  const own = { sessionKey: "done", eventId, runId };
  const entries = [sampleEntry(own), sampleEntry({ ...own, role: "assistant", text: "Done." })];
  const delivery = sampleDelivery(runId, { eventId });
  await journal.completeRun(runId, sampleOutcome({ entries, deliveries: [delivery], model: "echo" }));
  await journal.claimDeliveries(1, NOW + 10);
  await journal.finishDelivery(delivery.id, { state: "sent", at: NOW + 20, route: ROUTE, partsSent: 1 });
}

async function addDead(journal: Journal): Promise<void> {
  const { runId } = await claimOne(journal, "dead");
  await journal.buryRun(runId, { finishedAt: NOW + 10, error: "no", entries: [] });
}

/** One delivery that failed for good, and one that is under way. */
async function addUndelivered(journal: Journal): Promise<void> {
  const { eventId, runId } = await claimOne(journal, "undelivered");
  const deliveries = ["C2", "C3"].map((to) => sampleDelivery(runId, { eventId, to }));
  await journal.completeRun(runId, sampleOutcome({ deliveries }));
  await journal.claimDeliveries(2, NOW + 10);
  const [failed, sending] = deliveries.map(({ id }) => id);
  await journal.finishDelivery(failed ?? "", { state: "failed", at: NOW + 20, error: "gone" });
  await journal.progressDelivery(sending ?? "", 1, { ...ROUTE, to: "C3" });
}

async function claimOne(journal: Journal, sessionKey: string): Promise<{ eventId: string; runId: string }> {
  const action = sampleRun(sessionKey);
  const event = sampleEvent({ actions: [action] });
  await journal.accept(event);
  await journal.claimRuns(1, NOW);
  return { eventId: event.id, runId: action.runId };
}
