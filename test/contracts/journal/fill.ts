import type { ClaimedRun, Journal } from "../../../src/core/journal/journal.ts";
import {
  NOW,
  sampleDelivery,
  sampleEntry,
  sampleEvent,
  sampleKeys,
  sampleOutcome,
  sampleRun,
  sampleWake,
} from "./samples.ts";

const ROUTE = { channel: "slack", to: "C1" } as const;

/** Adds work in every state; the sessions are named after the state. */
export async function fill(journal: Journal): Promise<void> {
  await addDone(journal);
  await addDead(journal);
  await addUndelivered(journal);
  await journal.addTallies([{ at: NOW, mapping: "m", what: "place", n: 2 }]);
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
  await journal.accept(
    sampleEvent({
      status: "skipped",
      actions: [],
      state: {
        name: "pull-requests",
        reads: [],
        sets: [
          { key: "count", json: "7" },
          { key: "last", json: '{"text":"a\\u0000b"}', ttlMs: 86_400_000 },
        ],
      },
    }),
  );
  const claimed = await journal.claimRuns(10, NOW);
  const waiting = claimed.find(({ sessionKey }) => sessionKey === "waiting");
  await journal.retryRun(waiting!, NOW + 5000, "busy");
}

async function addDone(journal: Journal): Promise<void> {
  const run = await claimOne(journal, "done");
  const { id: runId, eventId } = run;
  const own = { sessionKey: "done", eventId, runId };
  const step = {
    n: 1,
    kind: "context",
    state: "done",
    startedAt: NOW,
    sources: ["tickets"],
    text: "It's here.",
  } as const;
  await journal.recordSteps(run, [{ ...step, sources: [...step.sources] }]);
  const entries = [
    sampleEntry({ ...own, sources: ["tickets"] }),
    sampleEntry({ ...own, role: "assistant", text: "Done." }),
  ];
  const delivery = sampleDelivery(runId, { eventId });
  await journal.completeRun(run, sampleOutcome({ entries, deliveries: [delivery], model: "echo" }));
  await journal.recordAnswer(eventId!, { status: 200, contentType: "application/json", body: "{}" });
  const [claimed] = await journal.claimDeliveries(1, NOW + 10);
  await journal.finishDelivery(claimed!, {
    state: "sent",
    at: NOW + 20,
    route: ROUTE,
    partsSent: 1,
    messageId: "C1:1",
  });
}

async function addDead(journal: Journal): Promise<void> {
  const run = await claimOne(journal, "dead");
  await journal.deadLetterRun(run, { finishedAt: NOW + 10, error: "no", entries: [] });
}

/** One delivery that failed permanently, and one that is in progress. */
async function addUndelivered(journal: Journal): Promise<void> {
  const run = await claimOne(journal, "undelivered");
  const { id: runId, eventId } = run;
  const deliveries = ["C2", "C3"].map((to) => sampleDelivery(runId, { eventId, to }));
  await journal.completeRun(run, sampleOutcome({ deliveries }));
  const [failed, sending] = await journal.claimDeliveries(2, NOW + 10);
  await journal.finishDelivery(failed!, { state: "failed", at: NOW + 20, error: "gone" });
  await journal.progressDelivery(sending!, { partsSent: 1, route: { ...ROUTE, to: "C3" } });
}

async function claimOne(journal: Journal, sessionKey: string): Promise<ClaimedRun> {
  const action = sampleRun(sessionKey);
  const event = sampleEvent({ actions: [action] });
  await journal.accept(event);
  const [run] = await journal.claimRuns(1, NOW);
  return run!;
}
