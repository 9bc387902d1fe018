import { describe, expect, test } from "vitest";
import type { Journal, JournalChange } from "../../../src/journal/journal.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleDelivery, sampleEntry, sampleEvent, sampleOutcome, sampleRun, sampleWake } from "./samples.ts";

export function describeWatch(open: OpenJournal): void {
  describe("watching", () => {
    const { start } = useJournals(open);

    test("reports what each commit added and changed", async () => {
      const journal = await start();
      const take = watch(journal);
      const actions = [sampleRun("s"), sampleRun("s"), sampleWake("Disk is full.")];
      const [first, second] = actions.map((action) => ("runId" in action ? action.runId : ""));
      const event = sampleEvent({ actions });
      await journal.accept(event);
      expect(take()).toEqual([
        { kind: "event", id: event.id, status: "accepted", seq: expect.any(Number) },
        { kind: "run", id: first, state: "ready", seq: expect.any(Number) },
        { kind: "run", id: second, state: "queued", seq: expect.any(Number) },
        { kind: "entry", sessionKey: "main", urgent: true, seq: (await journal.pendingSystemEvents())[0]?.seq },
      ]);

      const [run] = await journal.claimRuns(1, NOW);
      expect(take()).toMatchObject([{ kind: "run", id: first, state: "running" }]);

      const delivery = sampleDelivery(run!.id, { eventId: event.id });
      const entries = [sampleEntry({ sessionKey: "s" })];
      await journal.completeRun(run!, sampleOutcome({ entries, deliveries: [delivery] }));
      const changes = take();
      expect(changes).toContainEqual(expect.objectContaining({ kind: "run", id: first, state: "done" }));
      expect(changes).toContainEqual(expect.objectContaining({ kind: "run", id: second, state: "ready" }));
      expect(changes).toContainEqual(expect.objectContaining({ kind: "entry", sessionKey: "s", urgent: false }));
      expect(changes).toContainEqual(expect.objectContaining({ kind: "delivery", id: delivery.id, state: "pending" }));

      const [claimed] = await journal.claimDeliveries(1, NOW + 10);
      await journal.retryDelivery(claimed!, NOW + 10, "busy");
      const [again] = await journal.claimDeliveries(1, NOW + 10);
      await journal.finishDelivery(again!, { state: "failed", at: NOW, error: "gone" });
      await journal.retryDeadLetter(delivery.id, NOW);
      const states = take().flatMap((change) => (change.kind === "delivery" ? change.state : []));
      expect(states).toEqual(["sending", "pending", "sending", "failed", "pending"]);
    });

    test("reports the end of an event", async () => {
      const journal = await start();
      const event = sampleEvent();
      await journal.accept(event);
      const [run] = await journal.claimRuns(1, NOW);
      const take = watch(journal);
      await journal.deadLetterRun(run!, { finishedAt: NOW, error: "no", entries: [] });
      expect(take()).toContainEqual(expect.objectContaining({ kind: "event", id: event.id, status: "dead" }));
    });

    test("reports nothing that was rolled back, and nothing twice", async () => {
      const journal = await start();
      const take = watch(journal);
      const [twice, good] = [sampleEvent(), sampleEvent()];
      await Promise.allSettled([
        journal.accept(twice),
        journal.accept({ ...sampleEvent(), id: twice.id }),
        journal.accept(good),
      ]);
      const events = take().filter(({ kind }) => kind === "event");
      expect(events).toMatchObject([{ id: twice.id }, { id: good.id }]);
    });

    test("reports after the commit", async () => {
      const journal = await start();
      const event = sampleEvent();
      const found = new Promise((resolve) => journal.watch(() => resolve(journal.getEvent(event.id))));
      await journal.accept(event);
      expect(await found).toMatchObject({ id: event.id });
    });

    test("ends when stopped; a listener that throws does not affect others", async () => {
      const journal = await start();
      journal.watch(() => {
        throw new Error("broken");
      });
      const take = watch(journal);
      await journal.accept(sampleEvent());
      expect(take()).not.toEqual([]);
      take.stop();
      await journal.accept(sampleEvent());
      expect(take()).toEqual([]);
    });
  });
}

/** Gives what was told since the last call. */
function watch(journal: Journal) {
  const seen: JournalChange[] = [];
  const stop = journal.watch((changes) => seen.push(...changes));
  return Object.assign(() => seen.splice(0), { stop });
}
