import { describe, expect, test } from "vitest";
import type { Journal } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import {
  NOW,
  nextId,
  sampleDelivery,
  sampleEntry,
  sampleEvent,
  sampleHeartbeat,
  sampleKeys,
  sampleOutcome,
  sampleRun,
  sampleWake,
  sweepAll,
} from "./samples.ts";

/** Everything that happens at `NOW` is old enough to be deleted. */
const ALL = { now: NOW + 100, keepFrom: NOW + 100 };

export function describeRetention(open: OpenJournal, { hasSizeLimit }: { hasSizeLimit: boolean }): void {
  describe("retention", () => {
    const { start } = useJournals(open);

    test("a finished event is deleted with its runs, deliveries, entries and empty session", async () => {
      const journal = await start();
      const { runId, eventId } = await completeEvent(journal, { delivers: true });
      await journal.claimDeliveries(1, NOW + 10);
      const [delivery] = await journal.listDeliveries({ limit: 1 });
      const route = { channel: "slack", to: "C1" } as const;
      await journal.finishDelivery(claimOf(delivery!.id), { state: "sent", at: NOW + 20, route, partsSent: 1 });

      await sweepAll(journal, { now: NOW + 100, keepFrom: NOW });
      expect(await journal.getEvent(eventId)).toMatchObject({ runs: [{ id: runId }], entries: [{}, {}] });
      await sweepAll(journal, ALL);
      expect(await readAll(journal)).toEqual({ events: [], runs: [], deliveries: [], sessions: [] });
      expect(await journal.stats()).toMatchObject({ events: 0, pendingRuns: 0, pendingDeliveries: 0 });
      expect(await journal.lastRoute()).toEqual(route);
    });

    test("where a session has spoken is known as long as the session, and of the main session never", async () => {
      const journal = await start();
      const speak = async (sessionKey: string, to: string, messageId?: string) => {
        await completeEvent(journal, { delivers: true, sessionKey });
        const [claimed] = await journal.claimDeliveries(1, NOW + 10);
        const route = { channel: "slack", to, thread: `${to}/${messageId ?? "t"}` } as const;
        const part = { route, partsSent: 1, messageId: messageId && `${messageId}.1` };
        await journal.progressDelivery(claimed!, part);
        await journal.finishDelivery(claimed!, { state: "sent", at: NOW + 20, route, partsSent: 2, messageId });
      };
      await speak("s", "C1:1", "m1");
      await speak("s", "C1:2");
      await speak("main", "C1:3", "m3");
      const read = async () => ({
        spoken: await Promise.all(["C1:1", "C1:2", "C1:3", "C1"].map((to) => journal.hasSpoken("slack", to))),
        elsewhere: await journal.hasSpoken("slack:eu", "C1:1"),
        inThread: await Promise.all(["C1:1/m1", "C1:3/m3"].map((to) => journal.hasSpoken("slack", to))),
        found: await Promise.all(["m1", "m3"].map((id) => journal.findSent("slack", id))),
        foundElsewhere: await journal.findSent("slack:eu", "m1"),
        thread: await journal.findThread("s", "slack", "C1:1"),
        threads: (await journal.listThreads("s")).map(({ thread }) => thread).toSorted(),
        sent: await Promise.all(["m1.1", "m1", "m3"].map((id) => journal.wasSent(id, 0, "slack"))),
      });
      const known = {
        spoken: [true, true, false, false],
        elsewhere: false,
        inThread: [true, false],
        found: [{ sessionKey: "s", to: "C1:1" }, undefined],
        foundElsewhere: undefined,
        thread: "C1:1/m1",
        threads: ["C1:1/m1", "C1:2/t"],
      };
      expect(await read()).toEqual({ ...known, sent: [true, true, true] });

      await completeEvent(journal, { delivers: false, sessionKey: "s", receivedAt: NOW + 50 });
      await sweepAll(journal, { now: NOW + 100, keepFrom: NOW + 40 });
      expect(await journal.listDeliveries({ limit: 10 })).toEqual([]);
      expect(await read()).toEqual({ ...known, sent: [true, true, false] });

      await sweepAll(journal, { ...ALL, keepMessagesFrom: Date.now() + 1000 });
      expect(await read()).toEqual({
        spoken: [false, false, false, false],
        elsewhere: false,
        inThread: [false, false],
        found: [undefined, undefined],
        foundElsewhere: undefined,
        thread: undefined,
        threads: [],
        sent: [false, false, false],
      });
    });

    test.for(["skipped", "rejected", "failed"] as const)("a %s event is deleted", async (status) => {
      const journal = await start();
      await journal.accept(sampleEvent({ status, actions: [] }));
      await sweepAll(journal, ALL);
      expect(await journal.listEvents({ limit: 10 })).toEqual([]);
    });

    test("a dead event is deleted with its dead letters", async () => {
      const journal = await start();
      const action = sampleRun("s");
      await journal.accept(sampleEvent({ actions: [action] }));
      await journal.claimRuns(1, NOW);
      await journal.deadLetterRun(claimOf(action.runId), { finishedAt: NOW, error: "no", entries: [] });
      await sweepAll(journal, ALL);
      expect(await journal.listDeadLetters({ limit: 10 })).toEqual([]);
      expect(await journal.listEvents({ limit: 10 })).toEqual([]);
    });

    test("nothing unfinished is deleted at any age or size", async () => {
      const journal = await start();
      const { eventId: sending } = await completeEvent(journal, { delivers: true });
      const [done, waiting] = [sampleRun("a"), sampleRun("b")];
      const partly = sampleEvent({ actions: [done, waiting] });
      await journal.accept(partly);
      await journal.claimRuns(1, NOW);
      const entries = [sampleEntry({ sessionKey: "a", eventId: partly.id, runId: done.runId })];
      await journal.completeRun(claimOf(done.runId), sampleOutcome({ entries }));

      await sweepAll(journal, { ...ALL, maxBytes: 1 });
      expect(await journal.getEvent(partly.id)).toMatchObject({
        status: "accepted",
        runs: [{ state: "done" }, { state: "ready" }],
        entries: [{}],
      });
      expect(await journal.getEvent(sending)).toMatchObject({ deliveries: [{ state: "pending" }] });
    });

    test("a system event is kept until a heartbeat has consumed it", async () => {
      const journal = await start();
      const event = sampleEvent({ actions: [] });
      event.actions.push(sampleWake("Disk is full.", event.id));
      await journal.accept(event);
      await sweepAll(journal, ALL);
      expect(await journal.listEvents({ limit: 10 })).toEqual([]);
      const [pending] = await journal.pendingSystemEvents();
      expect(pending).toMatchObject({ text: "Disk is full." });

      const heartbeat = await sampleHeartbeat(journal, { consumedSeqs: [pending!.seq] });
      await journal.completeHeartbeat(heartbeat, sampleOutcome());
      await sweepAll(journal, ALL);
      expect(await readAll(journal)).toEqual({ events: [], runs: [], deliveries: [], sessions: [] });
    });

    test("heartbeats are deleted by age", async () => {
      const journal = await start();
      for (const finishedAt of [NOW, NOW + 200]) {
        const id = nextId();
        const entries = [sampleEntry({ sessionKey: "main", at: finishedAt })];
        const deliveries = [sampleDelivery(id, { to: id })];
        await journal.completeHeartbeat(
          await sampleHeartbeat(journal, { id }),
          sampleOutcome({ finishedAt, entries, deliveries }),
        );
      }
      for (const { id } of await journal.claimDeliveries(10, NOW + 200)) {
        await journal.finishDelivery(claimOf(id), { state: "skipped", at: NOW + 90, error: "nowhere" });
      }
      await sweepAll(journal, ALL);
      expect(await journal.listRuns({ limit: 10 })).toHaveLength(1);
      expect(await journal.listDeliveries({ limit: 10 })).toEqual([]);
      expect(await journal.listSessions({ limit: 10 })).toMatchObject([{ key: "main", entries: 1 }]);
    });

    test("the oldest of too many idempotency keys are deleted, except those of unfinished events", async () => {
      const journal = await start();
      const keys = ["unfinished", "old", "young", "youngest"];
      for (const [age, key] of keys.entries()) {
        const idempotency = sampleKeys([key], { expiresAt: NOW + 10_000 + age });
        const actions = key === "unfinished" ? [sampleRun("s")] : [sampleWake(key)];
        await journal.accept(sampleEvent({ idempotency, actions }));
      }
      await sweepAll(journal, { now: NOW, keepFrom: NOW, maxKeys: 2 });
      const again = keys.map((key) => journal.accept(sampleEvent({ idempotency: sampleKeys([key]) })));
      const kinds = (await Promise.all(again)).map(({ kind }) => kind);
      expect(kinds).toEqual(["replayed", "committed", "replayed", "replayed"]);
    });

    test("expired keys are deleted however many older ones belong to unfinished events", async () => {
      const journal = await start();
      const unfinished = Array.from({ length: 510 }, (_, index) =>
        sampleEvent({
          idempotency: sampleKeys([`unfinished ${index}`], { expiresAt: NOW }),
          actions: [sampleRun(`s${index}`)],
        }),
      );
      await Promise.all(unfinished.map((event) => journal.accept(event)));
      const idempotency = sampleKeys(["done"], { expiresAt: NOW + 1 });
      await journal.accept(sampleEvent({ idempotency, actions: [sampleWake("done")] }));
      await sweepAll(journal, { now: NOW + 2, keepFrom: NOW - 1_000_000 });
      const again = sampleEvent({ receivedAt: NOW - 1, idempotency: sampleKeys(["done"]) });
      expect(await journal.accept(again)).toMatchObject({ kind: "committed" });
    });

    test.runIf(hasSizeLimit)(
      "over the size limit the oldest events are deleted first, in small batches, and space is freed",
      async () => {
        const journal = await start();
        const events = Array.from({ length: 210 }, () => {
          const event = sampleEvent({ status: "skipped", actions: [] });
          event.request.body = Buffer.alloc(20_000);
          return event;
        });
        await Promise.all(events.map((event) => journal.accept(event)));
        const young = { now: NOW + 100, keepFrom: NOW };
        await sweepAll(journal, { ...young, maxBytes: 100_000_000 });
        expect(await journal.stats()).toMatchObject({ events: 210 });

        await journal.sweep({ ...young, maxBytes: 4_000_000 });
        const { events: left } = await journal.stats();
        expect(left).toBeLessThan(210);
        expect(left).toBeGreaterThan(100);
        await sweepAll(journal, { ...young, maxBytes: 4_000_000 });
        const kept = await journal.listEvents({ limit: 210 });
        expect(kept.length).toBeGreaterThan(0);
        expect(kept.length).toBeLessThanOrEqual(200);
        expect(kept.map(({ id }) => id)).toEqual(
          events
            .slice(-kept.length)
            .map(({ id }) => id)
            .toReversed(),
        );
      },
    );
  });
}

/** A done run with a turn in its own session, and a delivery if `delivers`. */
async function completeEvent(
  journal: Journal,
  {
    delivers,
    sessionKey = nextId(),
    receivedAt = NOW,
  }: { delivers: boolean; sessionKey?: string; receivedAt?: number },
): Promise<{ eventId: string; runId: string }> {
  const { runId, action } = sampleRun(sessionKey);
  const event = sampleEvent({ receivedAt, actions: [{ runId, action }] });
  await journal.accept(event);
  await journal.claimRuns(1, NOW);
  const own = { sessionKey, eventId: event.id, runId };
  const entries = [sampleEntry(own), sampleEntry({ ...own, role: "assistant" })];
  const deliveries = delivers ? [sampleDelivery(runId, { eventId: event.id })] : [];
  await journal.completeRun(claimOf(runId), sampleOutcome({ entries, deliveries }));
  return { eventId: event.id, runId };
}

async function readAll(journal: Journal): Promise<Record<string, unknown[]>> {
  return {
    events: await journal.listEvents({ limit: 10 }),
    runs: await journal.listRuns({ limit: 10 }),
    deliveries: await journal.listDeliveries({ limit: 10 }),
    sessions: await journal.listSessions({ limit: 10 }),
  };
}
