import { describe, expect, test } from "vitest";
import type { Journal } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleDelivery, sampleEvent, sampleOutcome, sampleRun, sweepAll } from "./samples.ts";

export function describeFailedAttempts(open: OpenJournal): void {
  describe("failed attempts", () => {
    const { start } = useJournals(open);

    test("each failed attempt of a run is kept with its error and times, also over a retry as a dead letter", async () => {
      const journal = await start();
      const event = sampleEvent({ actions: [sampleRun("s")] });
      await journal.accept(event);
      const fail = async (at: number, end: (id: string) => Promise<boolean>): Promise<void> => {
        const [claimed] = await journal.claimRuns(1, at);
        expect(await end(claimed!.id)).toBe(true);
      };
      await fail(NOW, (id) => journal.retryRun(claimOf(id), NOW + 100, "503: busy\0", ["It was adapted.", "\0"]));
      await fail(NOW + 100, (id) =>
        journal.giveBackRun(claimOf(id), NOW + 200, { error: "no answer", warnings: ["a"] }),
      );
      await fail(NOW + 200, (id) => journal.releaseRun(claimOf(id)));
      await fail(NOW + 300, (id) =>
        journal.deadLetterRun(claimOf(id), { finishedAt: NOW + 350, error: "400: no", warnings: ["b"], entries: [] }),
      );
      const { id } = event.actions.map((action) => ({ id: "runId" in action ? action.runId : "" }))[0]!;
      await journal.retryDeadLetter(id, NOW + 400);
      await fail(NOW + 400, (claimed) => journal.completeRun(claimOf(claimed), sampleOutcome()));

      const kept = [
        { n: 1, startedAt: NOW, endedAt: expect.any(Number), error: expect.stringMatching(/^503: busy/) },
        { n: 2, startedAt: NOW + 100, endedAt: expect.any(Number), error: "no answer", warnings: ["a"] },
        { n: 3, startedAt: NOW + 300, endedAt: NOW + 350, error: "400: no", warnings: ["b"] },
      ];
      expect((await journal.getEvent(event.id))?.runs).toMatchObject([{ state: "done", failedAttempts: kept }]);
      expect(await journal.getRun(id)).toMatchObject({ failedAttempts: kept });
      expect((await journal.getRun(id))?.failedAttempts?.[0]?.warnings?.[0]).toBe("It was adapted.");
      await sweepAll(journal, { now: NOW + 500, keepFrom: NOW + 500 });
      expect(await journal.getRun(id)).toBeUndefined();
    });

    test("the last 20 failed attempts of a delivery are kept, with their numbers", async () => {
      const journal = await start();
      const { eventId, delivery } = await addDelivery(journal);
      for (let attempt = 1; attempt <= 24; attempt++) {
        await journal.claimDeliveries(1, NOW + 10 * attempt);
        const retry = attempt % 2 ? journal.retryDelivery : journal.giveBackDelivery;
        await retry(claimOf(delivery.id), NOW + 10 * attempt, `attempt ${attempt}`);
      }
      await journal.claimDeliveries(1, NOW + 250);
      await journal.finishDelivery(claimOf(delivery.id), { state: "failed", at: NOW + 255, error: "gone" });
      const [{ failedAttempts = [], startedAt } = {}] = (await journal.getEvent(eventId))?.deliveries ?? [];
      expect(startedAt).toBe(NOW + 250);
      expect(failedAttempts.map(({ n }) => n)).toEqual(Array.from({ length: 20 }, (_, index) => index + 6));
      expect(failedAttempts[0]).toMatchObject({ startedAt: NOW + 60, error: "attempt 6" });
      expect(failedAttempts.at(-1)).toEqual({ n: 25, startedAt: NOW + 250, endedAt: NOW + 255, error: "gone" });
      await sweepAll(journal, { now: NOW + 500, keepFrom: NOW + 500 });
      expect(await journal.getEvent(eventId)).toBeUndefined();
    });

    test("a lost claim keeps nothing", async () => {
      const journal = await start();
      const { eventId, delivery } = await addDelivery(journal);
      await journal.claimDeliveries(1, NOW + 10);
      const lost = { id: delivery.id, token: 0 };
      expect(await journal.retryDelivery(lost, NOW, "late")).toBe(false);
      expect((await journal.getEvent(eventId))?.deliveries[0]).not.toHaveProperty("failedAttempts");
    });
  });
}

/** Adds a delivery of a finished run. */
async function addDelivery(journal: Journal) {
  const run = sampleRun("s");
  const event = sampleEvent({ actions: [run] });
  await journal.accept(event);
  await journal.claimRuns(1, NOW);
  const delivery = sampleDelivery(run.runId, { eventId: event.id });
  await journal.completeRun(claimOf(run.runId), sampleOutcome({ finishedAt: NOW, deliveries: [delivery] }));
  return { eventId: event.id, delivery };
}
