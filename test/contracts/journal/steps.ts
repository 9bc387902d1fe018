import { describe, expect, test } from "vitest";
import type { Step } from "../../../src/core/journal/journal.ts";
import { type OpenJournal, useJournals } from "./harness.ts";
import { claimRun } from "./lost-claims.ts";
import { NOW, sampleEntry, sampleOutcome } from "./samples.ts";

function sampleStep(n: number, parts: Partial<Step> = {}): Step {
  return { n, kind: "call", state: "done", startedAt: NOW, finishedAt: NOW + 5, sources: [], ...parts };
}

const usage = { inputTokens: 1000, outputTokens: 10 };

function sampleAnswer(n: number, parts: Partial<Step> = {}): Step {
  return sampleStep(n, {
    kind: "model",
    model: "local/small",
    usage,
    cost: 0.5,
    answer: { asked: "house/model", calls: [], content: [{ role: "assistant" }] },
    ...parts,
  });
}

export function describeSteps(open: OpenJournal): void {
  const { folder, start } = useJournals(open);

  describe("steps", () => {
    test("are kept in order with everything in them, and set the attempts to 1", async () => {
      const journal = await start();
      const first = await claimRun(journal);
      await journal.retryRun(first, NOW, "busy");
      const [run] = await journal.claimRuns(1, NOW);
      expect(run?.attempts).toBe(2);
      const steps = [
        sampleStep(1, {
          kind: "context",
          call: "tickets.show",
          title: "The ticket",
          text: "a \0 b",
          sources: ["tickets"],
        }),
        sampleAnswer(2),
        sampleStep(3, { call: "tickets.find", arguments: { text: "\ud800" }, toolCallId: "c1", state: "started" }),
      ];
      expect(await journal.recordSteps(run!, steps)).toBe(true);
      expect(await journal.listSteps(run!.id)).toEqual(steps);
      expect(await journal.getRun(run!.id)).toMatchObject({ attempts: 1, state: "running" });
      expect((await journal.getEvent(run!.eventId!))?.runs).toMatchObject([{ steps }]);
    });

    test("under a lost claim are not recorded", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      await journal.releaseRun(run);
      expect(await journal.recordSteps(run, [sampleAnswer(1)])).toBe(false);
      expect(await journal.listSteps(run.id)).toEqual([]);
      expect(await journal.spend({ since: 0 })).toEqual([]);
    });

    test("a call is replaced by its result, an answer never changes and is spent once", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      await journal.recordSteps(run, [sampleAnswer(1, { text: "first" }), sampleStep(2, { state: "started" })]);
      await journal.recordSteps(run, [sampleAnswer(1, { text: "second" }), sampleStep(2, { text: "result" })]);
      expect(await journal.listSteps(run.id)).toMatchObject([{ text: "first" }, { state: "done", text: "result" }]);
      expect(await journal.spend({ since: 0 })).toMatchObject([{ runs: 0, ...usage, cost: 0.5 }]);
    });

    test("the last answer is recorded with the end of the run, and only it is spent then", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      await journal.recordSteps(run, [sampleAnswer(1)]);
      const total = { usage: { inputTokens: 2000, outputTokens: 20 }, cost: 1, model: "local/small" };
      expect(await journal.completeRun(run, sampleOutcome({ ...total, lastStep: sampleAnswer(2) }))).toBe(true);
      expect(await journal.listSteps(run.id)).toMatchObject([{ n: 1 }, { n: 2 }]);
      expect(await journal.spend({ since: 0 })).toMatchObject([{ runs: 1, ...total.usage, cost: 1 }]);
      expect(await journal.getRun(run.id)).toMatchObject(total);
    });

    test("of a dead letter are there when it is retried, and go with their event", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      await journal.recordSteps(run, [sampleAnswer(1)]);
      await journal.deadLetterRun(run, { finishedAt: NOW, error: "no", entries: [] });
      await journal.retryDeadLetter(run.id, NOW);
      const [again] = await journal.claimRuns(1, NOW);
      while (await journal.sweep({ now: NOW + 1, keepFrom: NOW + 1 }));
      expect(await journal.listSteps(run.id)).toHaveLength(1);
      await journal.completeRun(again!, sampleOutcome());
      while (await journal.sweep({ now: NOW + 1, keepFrom: NOW + 1 }));
      expect(await journal.listSteps(run.id)).toEqual([]);
    });

    test("are there after a restart, and entries keep their sources", async () => {
      const at = folder();
      const before = await start(at);
      const run = await claimRun(before);
      await before.recordSteps(run, [sampleAnswer(1)]);
      const entries = [sampleEntry({ sources: ["tickets", "sentry"] }), sampleEntry()];
      await before.completeRun(run, sampleOutcome({ entries }));
      await before.close();
      const journal = await start(at);
      expect(await journal.listSteps(run.id)).toEqual([sampleAnswer(1)]);
      expect((await journal.history("session", 5)).map(({ sources }) => sources)).toEqual([
        ["tickets", "sentry"],
        undefined,
      ]);
    });
  });
}
