import { describe, expect, test } from "vitest";
import type { Change, Journal, NewEvent } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleDelivery, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

export function describeFailedRequests(open: OpenJournal): void {
  describe("failed requests", () => {
    const { start } = useJournals(open);
    const failed = (change: Partial<NewEvent> = {}): NewEvent =>
      sampleEvent({
        status: "failed",
        actions: [],
        failure: { code: "transform_failed", message: "It failed.", detail: "Error: no job 17\n  at ci.ts:8:29" },
        ...change,
      });
    const accept = async (journal: Journal, event: NewEvent): Promise<string> => {
      await journal.accept(event);
      return event.id;
    };
    const list = async (journal: Journal, filter = {}): Promise<string[]> =>
      (await journal.listFailedRequests({ limit: 10, ...filter })).map(({ id }) => id);

    test("stay until a replay is accepted, or they are dropped", async () => {
      const journal = await start();
      const first = await accept(journal, failed());
      const second = await accept(journal, failed());
      await accept(journal, sampleEvent({ status: "rejected", actions: [], failure: { code: "x", message: "No." } }));
      const group = "Error: no job … · ci.ts:8:29";
      expect(await journal.listFailedRequests({ limit: 10 })).toMatchObject([
        { id: second, status: "failed", dead: 1, failureGroup: group },
        { id: first, dead: 1 },
      ]);
      // A replay that fails is its first request again.
      const changes: Change[] = [];
      const unwatch = journal.watchChanges((some) => void changes.push(...some));
      await accept(journal, failed({ replayOf: first }));
      expect(await list(journal)).toEqual([second, first]);
      const replay = await accept(journal, sampleEvent({ replayOf: first, actions: [sampleRun("a")] }));
      expect(await list(journal)).toEqual([second]);
      await expect.poll(() => changes).toContainEqual({ kind: "event", id: first });
      unwatch();
      expect(await journal.getEvent(first)).toMatchObject({ status: "failed", dead: 0, replayedBy: replay });
      // Settled once: a later replay changes nothing.
      await accept(journal, sampleEvent({ replayOf: first, status: "skipped", actions: [] }));
      expect(await journal.getEvent(first)).toMatchObject({ replayedBy: replay });

      expect(await journal.dropDeadLetter(first)).toBe(false);
      expect(await journal.dropDeadLetter(second)).toBe(true);
      expect(await journal.dropDeadLetter(second)).toBe(false);
      expect(await list(journal)).toEqual([]);
      expect(await journal.getEvent(second)).toMatchObject({ status: "canceled", dead: 0, canceled: 1 });
      while (await journal.sweep({ now: NOW, keepFrom: NOW + 60_000 }));
      expect(await journal.getEvent(second)).toBeUndefined();
    });

    test("are found by hook, mapping, group and time", async () => {
      const journal = await start();
      const other = { code: "transform_failed", message: "It failed.", detail: "TypeError: x" };
      const one = await accept(journal, failed({ hook: "one", mapping: "m" }));
      const two = await accept(journal, failed({ hook: "two", mapping: "n", failure: other }));
      expect(await list(journal, { hook: "one" })).toEqual([one]);
      expect(await list(journal, { mapping: "n" })).toEqual([two]);
      expect(await list(journal, { group: "TypeError: x" })).toEqual([two]);
      expect(await list(journal, { limit: 1 })).toEqual([two]);
      expect(await list(journal, { to: 1 })).toEqual([]);
      expect(await list(journal, { hook: "one", mapping: "n" })).toEqual([]);
    });
  });

  describe("what events and runs have done", () => {
    const { start } = useJournals(open);

    test("is known by their messages and calls", async () => {
      const journal = await start();
      const [sent, called, neither] = [sampleRun("a"), sampleRun("b"), sampleRun("c")];
      const events = [sent, called, neither].map((run) => sampleEvent({ actions: [run] }));
      for (const event of events) await journal.accept(event);
      const runs = await journal.claimRuns(3, NOW);
      const step = { n: 1, kind: "call", state: "done", startedAt: NOW, finishedAt: NOW } as const;
      await journal.recordSteps(claimOf(called.runId), [
        { ...step, call: "tickets.create", callId: "c-1", sources: [] },
      ]);
      await journal.recordSteps(claimOf(neither.runId), [{ ...step, call: "tickets.show", sources: [] }]);
      const delivery = sampleDelivery(sent.runId, { eventId: events[0]!.id });
      await journal.completeRun(claimOf(sent.runId), sampleOutcome({ deliveries: [delivery] }));
      await journal.claimDeliveries(1, NOW);
      const route = { channel: "slack", to: "C1" };
      await journal.finishDelivery(claimOf(delivery.id), { state: "sent", at: NOW, route, partsSent: 1 });
      const ids = { events: events.map(({ id }) => id), runs: runs.map(({ id }) => id) };
      expect(await journal.findEffects(ids)).toEqual({
        events: new Set([events[0]!.id]),
        runs: new Set([called.runId]),
      });
    });
  });
}
