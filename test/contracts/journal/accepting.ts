import { describe, expect, test } from "vitest";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, nextId, receiptOf, sampleEvent, sampleRun, sampleWake } from "./samples.ts";

export function describeAccepting(open: OpenJournal): void {
  describe("accepting", () => {
    const { start, folder } = useJournals(open);

    test("an agent action becomes a run", async () => {
      const journal = await start();
      const { runId, action } = sampleRun("session");
      const event = sampleEvent({ actions: [{ runId, action }], warnings: ["one"] });

      expect(await journal.accept(event)).toEqual({
        kind: "committed",
        receipt: {
          eventId: event.id,
          actions: [{ kind: "agent", runId, sessionKey: "session" }],
          warnings: ["one"],
          replayed: false,
        },
      });
      expect(await journal.listRuns({ limit: 10 })).toEqual([
        {
          id: runId,
          kind: "hook",
          eventId: event.id,
          hook: "github",
          mapping: "pull-requests",
          sessionKey: "session",
          action,
          state: "ready",
          attempts: 0,
          createdAt: NOW,
          dueAt: NOW,
          warnings: [],
        },
      ]);
    });

    test("an event keeps its name and why it was skipped", async () => {
      const journal = await start();
      const names = {
        event: "star.created",
        subject: "acme/shop",
        reason: "the event star.created is not one of events",
      };
      const event = sampleEvent({ ...names, status: "skipped", actions: [] });
      await journal.accept(event);

      expect(await journal.listEvents({ limit: 1 })).toMatchObject([{ ...names, status: "skipped" }]);
      expect(await journal.getEvent(event.id)).toMatchObject(names);
    });

    test("a wake is done with its commit", async () => {
      const journal = await start();
      const event = sampleEvent({ actions: [] });
      event.actions.push(sampleWake("Disk is full.", event.id));

      const { actions } = receiptOf(await journal.accept(event));

      expect(actions).toEqual([{ kind: "wake", mode: "now" }]);
      expect(await journal.pendingSystemEvents()).toMatchObject([
        {
          sessionKey: "main",
          role: "system",
          text: "Disk is full.",
          eventId: event.id,
          pending: true,
          urgent: true,
        },
      ]);
      expect(await journal.getEvent(event.id)).toMatchObject({
        status: "done",
        entries: [{ text: "Disk is full." }],
      });
    });

    test("an event is read back completely, its body byte for byte", async () => {
      const journal = await start();
      const event = sampleEvent({
        log: [{ level: "warn", text: "odd" }],
        warnings: ["the field x is not known"],
        credential: "token:default",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        timings: { mappingMs: 3.2, transformMs: 1.4 },
      });
      event.request.body = Buffer.from([0, 255, 128, 10]);
      await journal.accept(event);

      expect(await journal.getEvent(event.id)).toMatchObject({
        id: event.id,
        hook: event.hook,
        mapping: event.mapping,
        credential: event.credential,
        traceparent: event.traceparent,
        timings: event.timings,
        receivedAt: NOW,
        status: "accepted",
        request: event.request,
        warnings: event.warnings,
        log: event.log,
      });
    });

    test("an empty body stays empty", async () => {
      const journal = await start();
      const event = sampleEvent();
      event.request.body = Buffer.alloc(0);
      await journal.accept(event);
      expect((await journal.getEvent(event.id))?.request.body).toEqual(Buffer.alloc(0));
    });

    test.for(["skipped", "rejected", "failed"] as const)("a %s event is recorded", async (status) => {
      const journal = await start();
      const failure = { code: "transform_failed", message: "The transform failed.", detail: "at line 3" };
      const event = sampleEvent({ status, actions: [], failure });
      await journal.accept(event);
      expect(await journal.getEvent(event.id)).toMatchObject({ status, failure, actions: [], runs: [] });
    });

    test("a failing accept leaves nothing behind and does not affect others in its commit", async () => {
      const journal = await start();
      const twice = sampleEvent();
      const good = sampleEvent();
      const results = await Promise.allSettled([
        journal.accept(twice),
        journal.accept({ ...sampleEvent(), id: twice.id }),
        journal.accept(good),
      ]);
      expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await journal.listRuns({ limit: 10 })).toHaveLength(2);
      expect(await journal.stats()).toMatchObject({ events: 2, pendingRuns: 2 });
    });

    test("many concurrent events are all committed", async () => {
      const journal = await start();
      const events = Array.from({ length: 1000 }, () => sampleEvent({ actions: [sampleRun(nextId())] }));
      const results = await Promise.all(events.map((event) => journal.accept(event)));
      expect(results.map((result) => receiptOf(result).eventId)).toEqual(events.map((event) => event.id));
      expect(await journal.stats()).toMatchObject({ events: 1000, pendingRuns: 1000 });
    });

    test("accepted events survive a restart", async () => {
      const at = folder();
      const first = await start(at);
      const event = sampleEvent();
      await first.accept(event);
      await first.close();

      const second = await start(at);
      expect(await second.getEvent(event.id)).toMatchObject({ status: "accepted" });
      expect(await second.claimRuns(10, NOW)).toMatchObject([{ eventId: event.id, attempts: 1 }]);
    });

    test("close commits what is queued and rejects later calls", async () => {
      const at = folder();
      const first = await start(at);
      const waiting = first.accept(sampleEvent());
      await first.close();
      expect(await waiting).toMatchObject({ kind: "committed" });
      await expect(first.accept(sampleEvent())).rejects.toMatchObject({ name: "JournalUnavailable" });
      await expect(first.listRuns({ limit: 1 })).rejects.toMatchObject({ name: "JournalUnavailable" });
      await first.close();

      const second = await start(at);
      expect(await second.stats()).toMatchObject({ events: 1 });
    });

    test("a journal that can commit passes the probe", async () => {
      const journal = await start();
      await expect(journal.probe()).resolves.toBeUndefined();
    });
  });
}
