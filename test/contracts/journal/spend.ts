import { describe, expect, test } from "vitest";
import type { Journal, TurnOutcome } from "../../../src/core/journal/journal.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleEvent, sampleHeartbeat, sampleOutcome, sampleRun } from "./samples.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function describeSpend(open: OpenJournal): void {
  describe("spend", () => {
    const { start } = useJournals(open);
    const usage = { inputTokens: 1000, outputTokens: 10 };

    test("adds up what the runs of a hook, a mapping and a model used", async () => {
      const journal = await start();
      const outcome = { model: "local/small", usage, cost: 0.5 };
      await complete(journal, { hook: "a", mapping: "m" }, "s", outcome);
      await complete(journal, { hook: "a", mapping: "m" }, "t", outcome);
      await complete(journal, { hook: "b", mapping: undefined }, "t", { ...outcome, cost: undefined });
      await complete(journal, { hook: "c" }, "t", { model: "local/small" });
      const heartbeat = await sampleHeartbeat(journal);
      await journal.completeHeartbeat(heartbeat, sampleOutcome({ ...outcome, model: undefined, cost: 0.25 }));

      const day = new Date(NOW).toISOString().slice(0, 10);
      const both = { day, runs: 2, inputTokens: 2000, outputTokens: 20, cost: 1 };
      const one = { day, runs: 1, ...usage };
      const main = { hook: "", mapping: "", model: "", ...one, cost: 0.25 };
      const b = { hook: "b", mapping: "", model: "local/small", ...one, cost: 0 };
      expect(await journal.spend({ since: 0 })).toEqual([
        { hook: "a", mapping: "m", model: "local/small", ...both },
        main,
        b,
      ]);
      expect(await journal.spend({ since: 0, sessionKey: "t" })).toMatchObject([{ hook: "a", runs: 1 }, b]);
      expect(await journal.spend({ since: 0, sessionKey: "main" })).toEqual([main]);
      expect(await journal.spend({ since: 0, sessionKey: "x" })).toEqual([]);
      expect(await journal.listRuns({ limit: 1, state: "done" })).toMatchObject([{ kind: "heartbeat", cost: 0.25 }]);
    });

    test("is kept by the hour, as long as events are", async () => {
      const journal = await start();
      const hour = NOW - (NOW % HOUR_MS);
      await complete(journal, {}, "s", { usage, finishedAt: hour - 1 });
      await complete(journal, {}, "s", { usage, finishedAt: hour + 1 });
      expect(await journal.spend({ since: hour - HOUR_MS })).toMatchObject([{ runs: 2 }]);
      expect(await journal.spend({ since: hour })).toMatchObject([{ runs: 1 }]);
      expect(await journal.spend({ since: 0, until: hour })).toMatchObject([{ runs: 1 }]);
      // Budgets count the whole day.
      while (await journal.sweep({ now: NOW, keepFrom: NOW }));
      expect(await journal.spend({ since: 0 })).toMatchObject([{ runs: 2 }]);
      while (await journal.sweep({ now: NOW + DAY_MS, keepFrom: hour + HOUR_MS }));
      expect(await journal.spend({ since: 0 })).toMatchObject([{ runs: 1 }]);
      while (await journal.sweep({ now: NOW + DAY_MS, keepFrom: hour + DAY_MS }));
      expect(await journal.spend({ since: 0 })).toEqual([]);
    });
  });
}

async function complete(
  journal: Journal,
  event: Parameters<typeof sampleEvent>[0],
  session: string,
  outcome: Partial<TurnOutcome>,
): Promise<void> {
  await journal.accept(sampleEvent({ ...event, actions: [sampleRun(session)] }));
  for (const run of await journal.claimRuns(10, NOW)) await journal.completeRun(run, sampleOutcome(outcome));
}
