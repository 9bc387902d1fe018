import { describe, expect, test } from "vitest";
import type { Claim, ClaimedDelivery, ClaimedRun, Journal } from "../../../src/core/journal/journal.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, nextId, sampleDelivery, sampleEntry, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

export function describeLostClaims(open: OpenJournal): void {
  const { start } = useJournals(open);

  describe("a lost claim", () => {
    test.for(["released", "ended"] as const)("of a run that was %s changes nothing", async (how) => {
      const journal = await start();
      const old = await claimRun(journal);
      const lost = how === "released" ? journal.releaseRun(old) : journal.completeRun(old, sampleOutcome());
      expect(await lost).toBe(true);
      await expectUnchanged(journal, old);
    });

    test("of an earlier attempt changes nothing", async () => {
      const journal = await start();
      const old = await claimRun(journal);
      expect(await journal.retryRun(old, NOW, "busy")).toBe(true);
      const [current] = await journal.claimRuns(1, NOW);
      expect(await journal.completeRun(old, sampleOutcome())).toBe(false);
      expect(await journal.completeRun(current!, sampleOutcome())).toBe(true);
    });

    test("a retried dead letter is not ended by the claim under which it died", async () => {
      const journal = await start();
      const old = await claimRun(journal);
      await journal.deadLetterRun(old, { finishedAt: NOW, error: "no", entries: [] });
      await journal.retryDeadLetter(old.id, NOW);
      await journal.claimRuns(1, NOW);
      expect(await journal.completeRun(old, sampleOutcome())).toBe(false);
    });
  });
}

/** Nothing that a run can end with is recorded under the claim. */
export async function expectUnchanged(journal: Journal, claim: Claim): Promise<void> {
  const before = await journal.listRuns({ limit: 1 });
  const outcome = sampleOutcome({ entries: [sampleEntry()], deliveries: [sampleDelivery(claim.id)] });
  expect(await journal.completeRun(claim, outcome)).toBe(false);
  expect(await journal.deadLetterRun(claim, { finishedAt: NOW, error: "late", entries: [sampleEntry()] })).toBe(false);
  expect(await journal.retryRun(claim, NOW, "late")).toBe(false);
  expect(await journal.releaseRun(claim)).toBe(false);

  expect(await journal.listRuns({ limit: 1 })).toEqual(before);
  expect(await journal.listSessions({ limit: 1 })).toEqual([]);
  expect(await journal.listDeliveries({ limit: 1 })).toEqual([]);
}

export async function claimRun(journal: Journal): Promise<ClaimedRun> {
  await journal.accept(sampleEvent({ actions: [sampleRun(nextId())] }));
  const [run] = await journal.claimRuns(1, NOW);
  return run!;
}

export async function claimDelivery(journal: Journal): Promise<ClaimedDelivery> {
  const run = await claimRun(journal);
  await journal.completeRun(run, sampleOutcome({ deliveries: [sampleDelivery(run.id, { eventId: run.eventId })] }));
  const [delivery] = await journal.claimDeliveries(1, NOW + 10);
  return delivery!;
}
