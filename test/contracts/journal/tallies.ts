import { describe, expect, test } from "vitest";
import type { Tally } from "../../../src/core/journal/journal.ts";
import { createId } from "../../../src/core/shared/id.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleEvent, sampleRun } from "./samples.ts";

const STEP_MS = 300_000;
const DAY_MS = 86_400_000;
const AT = NOW - (NOW % (2 * STEP_MS));

export function describeTallies(open: OpenJournal): void {
  describe("counts of five minutes", () => {
    const { start } = useJournals(open);
    const tally = (what: Tally["what"], n: number, at = AT, mapping = ""): Tally => ({ at, mapping, what, n });

    test("add up over commits, mappings and longer steps; of the slowest the highest stays", async () => {
      const journal = await start();
      await journal.addTallies([tally("requests", 2), tally("slowestMs", 40), tally("place", 1, AT, "a")]);
      await journal.addTallies([tally("slowestMs", 30), tally("requests", 3), tally("place", 2, AT, "b")]);
      await journal.addTallies([tally("requests", 5, AT + STEP_MS), tally("slowestMs", 90, AT + STEP_MS)]);
      await journal.addTallies([]);
      const first = { place: 3, requests: 5, slowestMs: 40 };
      const listed = async (from: number, stepMs = STEP_MS): Promise<unknown[]> => {
        const rows = await journal.listTallies(from, stepMs);
        const steps = Map.groupBy(rows, ({ at }) => at);
        return Array.from(steps, ([at, of]) => [at, Object.fromEntries(of.map(({ what, n }) => [what, n]))]);
      };
      expect(await listed(AT)).toEqual([
        [AT, first],
        [AT + STEP_MS, { requests: 5, slowestMs: 90 }],
      ]);
      expect(await listed(AT, 2 * STEP_MS)).toEqual([[AT, { place: 3, requests: 10, slowestMs: 90 }]]);
      expect(await listed(AT + 1)).toHaveLength(1);
    });

    test("are kept for eight days", async () => {
      const journal = await start();
      await journal.addTallies([tally("up", 1), tally("up", 1, AT - STEP_MS)]);
      while (await journal.sweep({ now: AT + 8 * DAY_MS, keepFrom: 0 }));
      expect(await journal.listTallies(0, STEP_MS)).toEqual([{ at: AT, what: "up", n: 1 }]);
    });

    test("stand beside the events of a time by status", async () => {
      const journal = await start();
      const before = Date.now() - 1000;
      const none = { accepted: 0, skipped: 0, rejected: 0, done: 0, failed: 0, canceled: 0 };
      await journal.accept(sampleEvent({ id: createId(), actions: [sampleRun("a")] }));
      for (const status of ["skipped", "skipped", "failed"] as const) {
        await journal.accept(sampleEvent({ id: createId(), status, actions: [] }));
      }
      expect(await journal.countSince(before)).toEqual({ ...none, accepted: 1, skipped: 2, failed: 1 });
      expect(await journal.countSince(Date.now() + 1000)).toEqual(none);
    });
  });
}
