import { describe, expect, test } from "vitest";
import type { Journal } from "../../../src/core/journal/journal.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import {
  NOW,
  nextId,
  sampleDelivery,
  sampleEntry,
  sampleEvent,
  sampleHeartbeat,
  sampleOutcome,
  sampleWake,
  toTurn,
} from "./samples.ts";

export function describeHeartbeats(open: OpenJournal): void {
  describe("heartbeats", () => {
    const { start, folder } = useJournals(open);

    test("system events are pending, oldest first, until a heartbeat consumes them", async () => {
      const journal = await start();
      await wakeFor(journal, ["one", "two", "three"]);
      const pending = await journal.pendingSystemEvents();
      expect(pending.map((entry) => entry.text)).toEqual(["one", "two", "three"]);
      expect(await journal.pendingSystemEvents(2)).toEqual(pending.slice(0, 2));

      const consumedSeqs = pending.slice(0, 2).map((entry) => entry.seq);
      await journal.completeHeartbeat(await sampleHeartbeat(journal, { consumedSeqs }), sampleOutcome());
      expect(await journal.pendingSystemEvents()).toEqual(pending.slice(2));
      expect(await journal.stats()).toMatchObject({ pendingSystemEvents: 1 });
    });

    test("a heartbeat's turn is recorded with its entries and deliveries", async () => {
      const journal = await start();
      const id = nextId();
      const entries = [
        sampleEntry({ sessionKey: "main", runId: id }),
        sampleEntry({ sessionKey: "main", role: "assistant", runId: id }),
      ];
      const deliveries = [sampleDelivery(id)];
      const outcome = sampleOutcome({ entries, deliveries });
      expect(await journal.completeHeartbeat(await sampleHeartbeat(journal, { id }), outcome)).toBe(true);

      expect(await journal.listRuns({ limit: 10 })).toEqual([
        {
          id,
          kind: "heartbeat",
          sessionKey: "main",
          state: "done",
          attempts: 1,
          createdAt: NOW,
          dueAt: NOW,
          startedAt: NOW,
          finishedAt: NOW + 10,
          reply: "Done.",
          warnings: [],
        },
      ]);
      const session = await journal.getSession("main", { limit: 10 });
      expect(session?.entries.filter(({ role }) => role !== "system")).toMatchObject(entries);
      expect(await journal.history("main", 10)).toMatchObject(entries.map(toTurn));
      expect(await journal.claimDeliveries(10, NOW + 10)).toMatchObject([{ runId: id, text: "Done." }]);
    });

    test("recording a heartbeat twice changes nothing", async () => {
      const journal = await start();
      const run = await sampleHeartbeat(journal);
      const outcome = sampleOutcome({ entries: [sampleEntry({ sessionKey: "main" })] });
      await journal.completeHeartbeat(run, outcome);
      await journal.completeHeartbeat(run, outcome);
      expect(await journal.history("main", 10)).toHaveLength(1);
      expect(await journal.listRuns({ limit: 10 })).toHaveLength(1);
    });

    test("a failed heartbeat leaves its system events pending, also after a restart", async () => {
      const at = folder();
      const first = await start(at);
      await wakeFor(first, ["one"]);
      await first.failHeartbeat({ id: nextId(), startedAt: NOW, finishedAt: NOW + 5, error: "no model" });
      expect(await first.listRuns({ limit: 10 })).toMatchObject([
        { kind: "heartbeat", state: "dead", error: "no model", finishedAt: NOW + 5 },
      ]);
      await first.close();
      const second = await start(at);
      expect(await second.pendingSystemEvents()).toMatchObject([{ text: "one", urgent: true }]);
    });
  });
}

async function wakeFor(journal: Journal, texts: string[]): Promise<void> {
  for (const text of texts) await journal.accept(sampleEvent({ actions: [sampleWake(text)] }));
}
