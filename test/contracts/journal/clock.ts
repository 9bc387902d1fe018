import { describe, expect, test } from "vitest";
import { useJournals, type OpenJournal } from "./harness.ts";
import { claimDelivery, claimRun } from "./lost-claims.ts";
import { NOW, sampleDelivery, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

const HOUR = 3_600_000;

/** The clock of the machine can be set, forward and back. */
export function describeClock(open: OpenJournal): void {
  const { start } = useJournals(open);
  const now = Date.now();

  describe("after the clock was set back", () => {
    test("a run that arrived before is claimed, in the order of arrival", async () => {
      const journal = await start();
      const actions = ["a", "b", "c"].map((session) => sampleRun(session));
      for (const [index, action] of actions.entries()) {
        await journal.accept(sampleEvent({ receivedAt: now + (3 - index) * HOUR, actions: [action] }));
      }
      expect(await journal.nextDueAt()).toBeLessThanOrEqual(now);
      const claimed = await journal.claimRuns(10, now);
      expect(claimed.map(({ id }) => id)).toEqual(actions.map(({ runId }) => runId).toReversed());
    });

    test("a delivery that was created before is claimed", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      const deliveries = [sampleDelivery(run.id)];
      await journal.completeRun(run, sampleOutcome({ finishedAt: now + 2 * HOUR, deliveries }));
      expect(await journal.nextDueAt()).toBeLessThanOrEqual(now);
      expect(await journal.claimDeliveries(10, now)).toHaveLength(1);
    });

    test("a retry that waits longer than a retry can is due", async () => {
      const journal = await start();
      await journal.retryRun(await claimRun(journal), now + 3 * HOUR, "busy");
      expect(await journal.nextDueAt()).toBeLessThanOrEqual(now);
      const [run] = await journal.claimRuns(10, now);
      await journal.completeRun(run!, sampleOutcome({ deliveries: [sampleDelivery(run!.id)] }));
      const [delivery] = await journal.claimDeliveries(10, now);
      await journal.retryDelivery(delivery!, now + 3 * HOUR, "busy");
      expect(await journal.nextDueAt()).toBeLessThanOrEqual(now);
      expect(await journal.claimDeliveries(10, now)).toMatchObject([{ attempts: 2 }]);
    });

    test("a window that was opened before is closed", async () => {
      const journal = await start();
      const window = { key: "w", closesAt: now + HOUR + 200 };
      await journal.accept(sampleEvent({ receivedAt: now + HOUR, actions: [{ ...sampleRun("a"), window }] }));
      expect(await journal.nextDueAt()).toBeLessThanOrEqual(now);
      const later = { ...sampleRun("b"), window: { key: "w", closesAt: now + 200 } };
      await journal.accept(sampleEvent({ receivedAt: now, actions: [later] }));
      expect(await journal.claimRuns(10, now)).toHaveLength(1);
      expect(await journal.claimRuns(10, now + 200)).toHaveLength(1);
    });

    test.for([
      [23, 0],
      [25, 1],
    ] as const)("of runs whose window closes in %i hours %i is due", async ([hours, due]) => {
      const journal = await start();
      const window = { key: "w", closesAt: now + hours * HOUR };
      await journal.accept(sampleEvent({ receivedAt: now, actions: [{ ...sampleRun("a"), window }] }));
      expect(await journal.claimRuns(10, now)).toHaveLength(due);
    });
  });

  test("a retry starts while new runs keep coming", async () => {
    const journal = await start();
    const retried = await claimRun(journal);
    await journal.retryRun(retried, NOW + 1000, "busy");
    for (let index = 1; index <= 20; index += 1) {
      await journal.accept(sampleEvent({ receivedAt: NOW + index, actions: [sampleRun(`s${index}`)] }));
    }
    expect((await journal.claimRuns(1, NOW + 999))[0]?.id).not.toBe(retried.id);
    expect(await journal.claimRuns(1, NOW + 1000)).toMatchObject([{ id: retried.id, attempts: 2 }]);
  });

  test("a delivery's retry starts while new ones keep coming", async () => {
    const journal = await start();
    const retried = await claimDelivery(journal);
    await journal.retryDelivery(retried, NOW + 1000, "busy");
    const run = await claimRun(journal);
    const deliveries = Array.from({ length: 20 }, (_, index) => sampleDelivery(run.id, { to: `C${index + 9}` }));
    await journal.completeRun(run, sampleOutcome({ finishedAt: NOW + 20, deliveries }));
    expect((await journal.claimDeliveries(1, NOW + 999))[0]?.id).not.toBe(retried.id);
    expect(await journal.claimDeliveries(1, NOW + 1000)).toMatchObject([{ id: retried.id, attempts: 2 }]);
  });
}
