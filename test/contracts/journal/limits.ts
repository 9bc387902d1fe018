import { describe, expect, test } from "vitest";
import type { Journal, RunLimits } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, nextId, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

export function describeLimits(open: OpenJournal): void {
  describe("a mapping's limits", () => {
    const { start, folder } = useJournals(open);
    const one: RunLimits = new Map([["slow", { concurrency: 1 }]]);
    const twoASecond: RunLimits = new Map([["slow", { rate: { max: 2, perMs: 1000 } }]]);

    test("concurrency: runs start in order up to the limit, and do not delay other mappings", async () => {
      const journal = await start();
      const [first, second] = await acceptRuns(journal, ["slow", "slow", "slow"]);
      const [other] = await acceptRuns(journal, ["quick"]);
      expect(await claimedIds(journal, NOW, one)).toEqual([first, other]);
      expect(await claimedIds(journal, NOW, one)).toEqual([]);
      expect(await journal.nextDueAt(one)).toBeUndefined();
      await journal.completeRun(claimOf(first!), sampleOutcome());
      expect(await claimedIds(journal, NOW, one)).toEqual([second]);
    });

    test("a changed limit applies to the next claim", async () => {
      const journal = await start();
      const [first, second, third] = await acceptRuns(journal, ["slow", "slow", "slow"]);
      expect(await claimedIds(journal, NOW, one)).toEqual([first]);
      expect(await claimedIds(journal, NOW, new Map([["slow", { concurrency: 2 }]]))).toEqual([second]);
      expect(await claimedIds(journal, NOW)).toEqual([third]);
    });

    test("rate: at most `max` runs start in any period", async () => {
      const journal = await start();
      const [first, second, third, fourth] = await acceptRuns(journal, ["slow", "slow", "slow", "slow"]);
      expect(await claimedIds(journal, NOW, twoASecond, 1)).toEqual([first]);
      expect(await claimedIds(journal, NOW + 600, twoASecond)).toEqual([second]);
      expect(await claimedIds(journal, NOW + 999, twoASecond)).toEqual([]);
      expect(await journal.nextDueAt(twoASecond)).toBe(NOW + 1000);
      expect(await claimedIds(journal, NOW + 1000, twoASecond)).toEqual([third]);
      expect(await journal.nextDueAt(twoASecond)).toBe(NOW + 1600);
      expect(await claimedIds(journal, NOW + 1600, twoASecond)).toEqual([fourth]);
    });

    test("starts are remembered after a restart, in order", async () => {
      const at = folder();
      const before = await start(at);
      const ids = await acceptRuns(before, ["slow", "slow", "slow"]);
      for (const run of await before.claimRuns(10, NOW, twoASecond)) {
        await before.completeRun(claimOf(run.id), sampleOutcome());
      }
      await before.close();
      const after = await start(at);
      expect(await claimedIds(after, NOW + 999, twoASecond)).toEqual([]);
      expect(await claimedIds(after, NOW + 1000, twoASecond)).toEqual([ids[2]]);
    });

    test("a clock that was set back blocks nothing", async () => {
      const journal = await start();
      const [, , third] = await acceptRuns(journal, ["slow", "slow", "slow"]);
      await journal.claimRuns(10, NOW + 3_600_000, twoASecond);
      expect(await claimedIds(journal, NOW, twoASecond)).toEqual([third]);
    });

    test("a start that is a little later than a claim counts: nodes claim side by side", async () => {
      const journal = await start();
      const [, , third] = await acceptRuns(journal, ["slow", "slow", "slow"]);
      await journal.claimRuns(2, NOW + 5, twoASecond);
      expect(await claimedIds(journal, NOW, twoASecond)).toEqual([]);
      expect(await claimedIds(journal, NOW + 1004, twoASecond)).toEqual([]);
      expect(await claimedIds(journal, NOW + 1005, twoASecond)).toEqual([third]);
    });
  });

  describe("mappings take turns", () => {
    const { start } = useJournals(open);
    const none: RunLimits = new Map();

    /** The mappings of the claimed runs. */
    const claimed = async (journal: Journal, limit: number, limits = none): Promise<(string | undefined)[]> =>
      (await journal.claimRuns(limit, NOW, limits)).map(({ mapping }) => mapping);

    test("of mappings with equally many running runs, the oldest comes first", async () => {
      const journal = await start();
      const ids = await acceptRuns(journal, ["c", "a", "b", "a"]);
      expect(await claimedIds(journal, NOW, none, 3)).toEqual(ids.slice(0, 3));
    });

    test("a burst of one delays no other: the mapping with the fewest running runs is next", async () => {
      const journal = await start();
      await acceptRuns(journal, Array<string>(8).fill("burst"));
      expect(await claimed(journal, 3)).toEqual(["burst", "burst", "burst"]);
      await acceptRuns(journal, ["late", "later", "late", "late"]);
      expect(await claimed(journal, 3)).toEqual(["late", "later", "late"]);
      // Three of each.
      expect(await claimed(journal, 3)).toEqual(["burst", "burst", "late"]);
    });

    test("one slot: a mapping that was served longer ago is next, although no run of another is running", async () => {
      const journal = await start();
      await acceptRuns(journal, ["a", "a", "a", "b", "b", "c"]);
      const order: (string | undefined)[] = [];
      for (let turn = 0; turn < 6; turn++) {
        const [run] = await journal.claimRuns(1, NOW);
        order.push(run?.mapping);
        await journal.completeRun(run!, sampleOutcome());
      }
      expect(order).toEqual(["a", "b", "c", "a", "b", "a"]);
    });

    test("a mapping that this claim has served is behind one that was served before it", async () => {
      const journal = await start();
      await acceptRuns(journal, ["before", "before"]);
      expect(await claimed(journal, 1)).toEqual(["before"]);
      await acceptRuns(journal, ["now", "now"]);
      expect(await claimed(journal, 2)).toEqual(["before", "now"]);
    });

    test("built-in hooks are one mapping", async () => {
      const journal = await start();
      for (const hook of ["agent", "wake", "agent"]) {
        await journal.accept(sampleEvent({ hook, mapping: undefined, actions: [sampleRun(nextId())] }));
      }
      await acceptRuns(journal, ["a", "a"]);
      expect(await claimed(journal, 3)).toEqual([undefined, undefined, "a"]);
      expect(await claimed(journal, 1)).toEqual(["a"]);
    });

    test("a mapping at its limit or paused leaves its turn to others", async () => {
      const journal = await start();
      await acceptRuns(journal, ["full", "full", "off", "busy", "busy", "busy"]);
      await journal.pauseMapping("off", NOW);
      const limits: RunLimits = new Map([["full", { concurrency: 1 }]]);
      expect(await claimed(journal, 6, limits)).toEqual(["full", "busy", "busy", "busy"]);
    });
  });
}

/** Accepts one event per run, each in its own session. */
async function acceptRuns(journal: Journal, mappings: string[]): Promise<string[]> {
  const runs = mappings.map((mapping) => ({ mapping, action: sampleRun(nextId()) }));
  for (const { mapping, action } of runs) await journal.accept(sampleEvent({ mapping, actions: [action] }));
  return runs.map(({ action }) => action.runId);
}

async function claimedIds(journal: Journal, now: number, limits?: RunLimits, limit = 10): Promise<string[]> {
  return (await journal.claimRuns(limit, now, limits)).map((run) => run.id);
}
