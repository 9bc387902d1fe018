import { describe, expect, test } from "vitest";
import type { Change, Journal, NewWork } from "../../../src/core/journal/journal.ts";
import type { DeliveryState, RunState } from "../../../src/core/types.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleDelivery, sampleEvent, sampleOutcome, sampleRun, sampleWake } from "./samples.ts";

export function describeWatch(open: OpenJournal): void {
  describe("watching", () => {
    const { start } = useJournals(open);

    test("reports a new run, and the next of a session when one ends", async () => {
      const journal = await start();
      const take = watch(journal);
      await journal.accept(sampleEvent({ actions: [sampleRun("s"), sampleRun("s")] }));
      expect(take()).toContain("run");
      const [first] = await journal.claimRuns(1, NOW);
      expect(take()).toEqual([]);
      await journal.deadLetterRun(first!, { finishedAt: NOW, error: "no", entries: [] });
      expect(take()).toEqual(["run"]);
      const [second] = await journal.claimRuns(1, NOW);
      await journal.retryRun(second!, NOW, "busy");
      expect(take()).toEqual(["run"]);
      const [again] = await journal.claimRuns(1, NOW);
      await journal.releaseRun(again!);
      expect(take()).toEqual(["run"]);
      const [held] = await journal.claimRuns(1, NOW);
      await journal.holdRun(held!, "budget");
      expect(take()).toEqual([]);
      await journal.releaseHeld();
      expect(take()).toEqual(["run"]);
      const [last] = await journal.claimRuns(1, NOW);
      await journal.completeRun(last!, sampleOutcome({ deliveries: [] }));
      expect(take()).toEqual([]);
    });

    test("reports a new delivery, and the next to a recipient when one ends", async () => {
      const journal = await start();
      const event = sampleEvent();
      await journal.accept(event);
      const [run] = await journal.claimRuns(1, NOW);
      const take = watch(journal);
      const [first, second] = [0, 1].map(() => sampleDelivery(run!.id, { eventId: event.id }));
      await journal.completeRun(run!, sampleOutcome({ deliveries: [first!, second!] }));
      expect(take()).toContain("delivery");
      const [claimed] = await journal.claimDeliveries(1, NOW + 10);
      expect(take()).toEqual([]);
      await journal.retryDelivery(claimed!, NOW + 10, "busy");
      expect(take()).toEqual(["delivery"]);
      const [again] = await journal.claimDeliveries(1, NOW + 10);
      await journal.finishDelivery(again!, { state: "failed", at: NOW, error: "gone" });
      expect(take()).toEqual(["delivery"]);
      const [last] = await journal.claimDeliveries(1, NOW + 10);
      await journal.finishDelivery(last!, { state: "skipped", at: NOW, error: "no recipient" });
      expect(take()).toEqual([]);
      await journal.retryDeadLetter(first!.id, NOW);
      expect(take()).toContain("delivery");
    });

    test("reports a system event that requests a heartbeat", async () => {
      const journal = await start();
      const take = watch(journal);
      await journal.accept(sampleEvent({ actions: [sampleWake("Disk is full.")] }));
      expect(take()).toEqual(["heartbeat"]);
    });

    test("reports nothing that was rolled back, and nothing without work", async () => {
      const journal = await start();
      const event = sampleEvent();
      await journal.accept(event);
      const take = watch(journal);
      await expect(journal.accept({ ...sampleEvent(), id: event.id })).rejects.toThrow(Error);
      await journal.accept(sampleEvent({ status: "skipped", actions: [] }));
      expect(take()).toEqual([]);
    });

    test("reports after the commit", async () => {
      const journal = await start();
      const event = sampleEvent();
      const found = new Promise((resolve) => journal.watch(() => resolve(journal.getEvent(event.id))));
      await journal.accept(event);
      expect(await found).toMatchObject({ id: event.id });
    });

    test("tells those who watch changes what a commit changed, and nothing that was rolled back", async () => {
      const journal = await start();
      const changes: Change[] = [];
      const stop = journal.watchChanges((committed) => changes.push(...committed));
      const take = () => changes.splice(0);
      const event = sampleEvent({ actions: [sampleRun("s"), sampleWake("Disk is full.")] });
      await journal.accept(event);
      const ofEvent = { kind: "event", id: event.id };
      expect(take()).toEqual([{ kind: "session", key: "main" }, ofEvent]);
      await expect(journal.accept({ ...sampleEvent(), id: event.id })).rejects.toThrow(Error);
      expect(take()).toEqual([]);

      const [run] = await journal.claimRuns(1, NOW);
      const ofRun = (state: RunState) => ({ kind: "run", id: run!.id, eventId: event.id, state });
      expect(take()).toEqual([ofRun("running"), ofEvent]);
      await journal.retryRun(run!, NOW, "busy");
      expect(take()).toEqual([ofRun("ready"), ofEvent]);
      const [held] = await journal.claimRuns(1, NOW);
      await journal.holdRun(held!, "budget");
      await journal.releaseHeld();
      expect(take()).toEqual(["running", "held", "ready"].flatMap((state) => [ofRun(state as RunState), ofEvent]));
      const [again] = await journal.claimRuns(1, NOW);
      take();
      await journal.deadLetterRun(again!, { finishedAt: NOW, error: "no", entries: [] });
      const deadLetter = { kind: "dead-letter", id: run!.id, eventId: event.id };
      expect(take()).toEqual([ofRun("dead"), ofEvent, { ...deadLetter, isDead: true }, ofEvent]);
      await journal.retryDeadLetter(run!.id, NOW);
      expect(take()).toEqual([{ ...deadLetter, isDead: false }, ofEvent]);

      const [last] = await journal.claimRuns(1, NOW);
      take();
      const delivery = sampleDelivery(run!.id, { eventId: event.id });
      const ofDelivery = (state: DeliveryState) => ({ kind: "delivery", id: delivery.id, eventId: event.id, state });
      await journal.completeRun(last!, sampleOutcome({ entries: [], deliveries: [delivery] }));
      expect(take()).toEqual([ofDelivery("pending"), ofEvent, ofRun("done"), ofEvent]);
      const [claimed] = await journal.claimDeliveries(1, NOW + 10);
      expect(take()).toEqual([ofDelivery("sending"), ofEvent]);
      await journal.finishDelivery(claimed!, { state: "skipped", at: NOW, error: "no recipient" });
      expect(take()).toEqual([ofDelivery("skipped"), ofEvent]);
      stop();
      await journal.accept(sampleEvent());
      expect(take()).toEqual([]);
    });

    test("tells of the events that joined a run, too", async () => {
      const journal = await start();
      const window = { key: "k", closesAt: NOW + 1000 };
      const [first, second] = [0, 1].map(() => sampleEvent({ actions: [{ ...sampleRun("s"), window }] }));
      await journal.accept(first!);
      await journal.accept(second!);
      const changes: Change[] = [];
      journal.watchChanges((committed) => changes.push(...committed));
      await journal.claimRuns(1, NOW + 1000);
      const events = changes.flatMap((change) => (change.kind === "event" ? change.id : []));
      expect(events.toSorted()).toEqual([first!.id, second!.id].toSorted());
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

/** Returns the reports since the last call. */
function watch(journal: Journal) {
  const seen: NewWork[] = [];
  const stop = journal.watch((work) => seen.push(...work));
  return Object.assign(() => seen.splice(0), { stop });
}
