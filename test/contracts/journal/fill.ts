import type { ClaimedRun, Journal, NewEvent } from "../../../src/core/journal/journal.ts";
import { MAIN_SESSION } from "../../../src/core/types.ts";
import { numberAll, publish } from "./publications.ts";
import {
  nextId,
  NOW,
  sampleApproval,
  sampleDelivery,
  sampleEntry,
  sampleEvent,
  sampleHeartbeat,
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

/** Beside work in every state: what is stored in another form. */
export async function fillMore(journal: Journal): Promise<void> {
  const body = Buffer.from(JSON.stringify({ text: "A sentence that the message repeats. ".repeat(20) }));
  const wide = Buffer.alloc(200_000, "wide ");
  const events: Partial<NewEvent>[] = [
    { actions: [sampleRun("pieces", { message: `Read this: ${body.toString()}` })], request: requestOf(body) },
    { actions: [sampleRun("wide", { message: wide.toString() })], request: requestOf(wide) },
    {
      actions: [],
      status: "skipped",
      request: requestOf(Buffer.alloc(0)),
      reason: "nothing to do",
      event: "push",
      subject: "main",
    },
    { actions: [sampleRun("held")], replayOf: nextId(), credential: "token:deploys", traceparent: "00-1-2-01" },
  ];
  for (const event of events) await journal.accept(sampleEvent(event));
  for (const run of await journal.claimRuns(10, NOW)) {
    if (run.sessionKey === "held") {
      const asked = await sampleApproval(journal, run, { question: sampleDelivery(run.id, { eventId: run.eventId }) });
      await journal.holdRun(run, "approval", { asked: [asked], open: [], steps: [] });
      await journal.drawButtons(asked.id, [{ hash: "0".repeat(64), decision: "approve" }]);
    } else await complete(journal, run);
  }
  await addJoined(journal);
  await addCanceled(journal);
  await addDecided(journal);
  await fillPublications(journal);
  await journal.writeNotes([{ kind: "ready", key: "last", json: "1" }]);
  const heartbeat = await sampleHeartbeat(journal, { consumedSeqs: [(await journal.pendingSystemEvents())[0]!.seq] });
  await journal.completeHeartbeat(
    heartbeat,
    sampleOutcome({
      model: "echo",
      usage: { inputTokens: 3, outputTokens: 4 },
      cost: 0.1 + 0.2,
      entries: [sampleEntry({ sessionKey: MAIN_SESSION, role: "assistant", runId: heartbeat.id })],
    }),
  );
  const urgent = sampleEvent({ hook: "wake", actions: [] });
  urgent.actions.push(sampleWake("Still pending.", urgent.id), sampleWake("A second one.", urgent.id));
  await journal.accept(urgent);
}

async function fillPublications(journal: Journal): Promise<void> {
  const { publications } = journal;
  await publish(journal, "deploys", { data: '{"n":1}' });
  await publish(journal);
  await numberAll(journal);
  await publish(journal);
  const lease = (await journal.lease("publications"))!;
  await publications.number(lease, { seqs: [], types: [{ name: "deploys", payloadSchema: { type: "object" } }] });
  const terms = {
    id: "sub_1",
    principal: "desk",
    name: "deploys",
    arguments: {},
    url: "https://example.com",
    secret: "s",
  };
  const progress = { acked: 1, cursor: "c", scanned: 1, open: [], abandonedCount: 0 };
  await publications.subscribe({ ...terms, createdAt: NOW, refreshedAt: NOW }, progress);
}

/** Completes the turn, with a delivery. */
export async function complete(journal: Journal, run: ClaimedRun): Promise<void> {
  const own = { sessionKey: run.sessionKey, eventId: run.eventId, runId: run.id };
  const reply = `An answer with a sentence that only it has, and that its entry repeats. ${run.sessionKey}`;
  await journal.completeRun(
    run,
    sampleOutcome({
      reply,
      model: "local/small",
      usage: { inputTokens: 1000, outputTokens: 10 },
      cost: 0.001,
      entries: [
        sampleEntry({ ...own, text: run.action.message, boundary: { version: 1, id: "0", source: "s", hook: "h" } }),
        sampleEntry({ ...own, role: "assistant", text: reply }),
      ],
      deliveries: [
        sampleDelivery(run.id, { eventId: run.eventId, conversation: "thread", addressee: "ada", update: true }),
      ],
    }),
  );
}

async function addCanceled(journal: Journal): Promise<void> {
  const { id } = await claimOne(journal, "canceled");
  await journal.cancelRun(id, { finishedAt: NOW + 10, error: "canceled", entries: [] });
}

/** Its run waits to go on. */
async function addDecided(journal: Journal): Promise<void> {
  const run = await claimOne(journal, "decided");
  const asked = await sampleApproval(journal, run);
  await journal.holdRun(run, "approval", { asked: [asked], open: [], steps: [] });
  await journal.decideApproval(asked.id, { decision: "deny", by: "operator", at: NOW + 10, reason: "Not now." });
}

async function addJoined(journal: Journal): Promise<void> {
  const window = { key: "pr 1", closesAt: NOW + 60_000 };
  for (const message of ["one", "two", "three"]) {
    const action = sampleRun("joined", { message, coalesce: { key: window.key, windowMs: 60_000 } });
    await journal.accept(sampleEvent({ actions: [{ ...action, window }] }));
  }
}

function requestOf(body: Buffer): NewEvent["request"] {
  return { ...sampleEvent().request, body };
}

async function claimOne(journal: Journal, sessionKey: string): Promise<ClaimedRun> {
  const action = sampleRun(sessionKey);
  const event = sampleEvent({ actions: [action] });
  await journal.accept(event);
  const [run] = await journal.claimRuns(1, NOW);
  return run!;
}
