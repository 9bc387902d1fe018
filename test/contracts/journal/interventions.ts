import { describe, expect, test } from "vitest";
import type { Journal, Step } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { claimRun } from "./lost-claims.ts";
import {
  nextId,
  NOW,
  sampleApproval,
  sampleEntry,
  sampleEvent,
  sampleOutcome,
  sampleRun,
  sampleWake,
} from "./samples.ts";

const END = { finishedAt: NOW + 5, error: "canceled" };

export function describeInterventions(open: OpenJournal): void {
  describe("canceling a run", () => {
    const { start } = useJournals(open);

    test.for(["ready", "running", "held", "queued"] as const)("that is %s", async (state) => {
      const journal = await start();
      const [first = "", second = "", third = ""] = await acceptRuns(journal, ["s", "s", "s"]);
      if (state !== "ready") await journal.claimRuns(1, NOW);
      if (state === "held") await journal.holdRun(claimOf(first), "budget");
      const [target, next] = state === "queued" ? [second, third] : [first, second];
      const entries = [
        sampleEntry({
          sessionKey: "main",
          role: "system",
          text: "canceled",
          pending: true,
        }),
      ];
      expect(await journal.cancelRun(target, { ...END, entries })).toBe(true);
      expect(await journal.cancelRun(target, { ...END, entries })).toBe(false);

      expect(await journal.getRun(target)).toMatchObject({
        state: "canceled",
        error: "canceled",
        finishedAt: NOW + 5,
      });
      expect(await journal.stats()).toMatchObject({
        pendingRuns: 2,
        pendingSystemEvents: 1,
      });
      const [event] = await journal.listEvents({
        limit: 1,
        ids: [(await journal.getRun(target))?.eventId ?? ""],
      });
      expect(event).toMatchObject({ status: "canceled", open: 0, dead: 0, canceled: 1 });
      if (state === "queued") expect(await journal.completeRun(claimOf(first), sampleOutcome())).toBe(true);
      expect(await journal.claimRuns(9, NOW)).toMatchObject([{ id: next }]);
    });

    test("that is queued starts no other one beside the run of its session", async () => {
      const journal = await start();
      const [first = "", second = "", third = ""] = await acceptRuns(journal, ["s", "s", "s"]);
      await journal.claimRuns(1, NOW);
      await journal.deadLetterRun(claimOf(first), { finishedAt: NOW, error: "refused", entries: [] });
      expect(await journal.claimRuns(1, NOW)).toMatchObject([{ id: second }]);
      expect(await journal.retryDeadLetter(first, NOW)).toBe(true);

      expect(await journal.cancelRun(third, { ...END, entries: [] })).toBe(true);
      expect(await journal.claimRuns(9, NOW)).toEqual([]);
      expect(await journal.completeRun(claimOf(second), sampleOutcome())).toBe(true);
      expect(await journal.claimRuns(9, NOW)).toMatchObject([{ id: first }]);
    });

    test("voids its claim, and says so to the node that has it", async () => {
      const journal = await start();
      const seen: string[] = [];
      journal.watch((work) => seen.push(...work));
      const [id = ""] = await acceptRuns(journal, ["s", "t"]);
      const claims = (await journal.claimRuns(2, NOW)).map((run) => ({
        id: run.id,
        token: run.token,
      }));
      expect(await journal.findLost(claims)).toEqual([]);
      const step: Step = {
        n: 1,
        kind: "call",
        state: "started",
        call: "tickets.close",
        sources: [],
        startedAt: NOW,
      };
      await journal.recordSteps(claims[0]!, [step]);
      await journal.cancelRun(id, { ...END, entries: [] });
      expect(seen).toContain("cancel");
      expect(await journal.findLost(claims)).toEqual([claims[0]]);
      expect(await journal.completeRun(claims[0]!, sampleOutcome())).toBe(false);
      expect(await journal.listSteps(id)).toEqual([{ ...step, state: "unknown", finishedAt: NOW + 5 }]);
      expect(await journal.completeRun(claims[1]!, sampleOutcome())).toBe(true);
      expect(await journal.findLost(claims)).toEqual(claims);
    });

    test("ends it for the events that joined it, and none joins it any more", async () => {
      const journal = await start();
      const join = async (): Promise<string> => {
        const window = { key: "w", closesAt: Date.now() + 60_000 };
        const event = sampleEvent({
          receivedAt: Date.now(),
          actions: [
            {
              ...sampleRun("s", { coalesce: { key: "w", windowMs: 60_000 } }),
              window,
            },
          ],
        });
        await journal.accept(event);
        return event.id;
      };
      const ids = [await join(), await join()];
      const [run] = await journal.listRuns({ limit: 9 });
      await journal.cancelRun(run?.id ?? "", { ...END, entries: [] });
      expect(await journal.listEvents({ limit: 9, ids })).toMatchObject([
        { status: "canceled" },
        { status: "canceled" },
      ]);
      await join();
      expect(await journal.listRuns({ limit: 9, state: "ready" })).toHaveLength(1);
    });

    test("withdraws its questions", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      const approval = await sampleApproval(journal, run);
      await journal.holdRun(run, "approval", { steps: [], asked: [approval], open: [] });
      expect(await journal.cancelRun(run.id, { ...END, entries: [] })).toBe(true);
      expect(await journal.getApproval(approval.id)).toMatchObject({
        state: "withdrawn",
        reason: "Its run was canceled.",
      });
      expect(await journal.getRun(run.id)).toMatchObject({ state: "canceled" });
      expect(await journal.decideApproval(approval.id, { decision: "approve", by: "operator", at: NOW })).toMatchObject(
        {
          kind: "conflict",
        },
      );
    });

    test("an unknown, ended or malformed id is no run", async () => {
      const journal = await start();
      for (const id of [nextId(), "nothing"]) expect(await journal.cancelRun(id, { ...END, entries: [] })).toBe(false);
    });
  });

  describe("a paused mapping", () => {
    const { start, folder } = useJournals(open);

    test("keeps its runs in order until it is resumed, also after a restart", async () => {
      const at = folder();
      const journal = await start(at);
      const ids = await acceptRuns(journal, ["a", "b"]);
      const other = sampleEvent({
        mapping: "issues",
        actions: [sampleRun("c")],
      });
      await journal.accept(other);
      expect(await journal.pauseMapping("pull-requests", NOW)).toBe(true);
      expect(await journal.pauseMapping("pull-requests", NOW + 1)).toBe(false);
      await journal.close();

      const restarted = await start(at);
      expect(await restarted.listPauses()).toEqual([{ mapping: "pull-requests", since: NOW }]);
      expect(await restarted.claimRuns(9, NOW)).toMatchObject([{ eventId: other.id }]);
      expect(await restarted.nextDueAt()).toBeUndefined();
      expect(await restarted.resumeMapping("pull-requests")).toBe(true);
      expect(await restarted.resumeMapping("pull-requests")).toBe(false);
      expect((await restarted.claimRuns(9, NOW)).map(({ id }) => id)).toEqual(ids);
    });

    test("notes wakes, and starts no heartbeat", async () => {
      const journal = await start();
      const seen: string[] = [];
      journal.watch((work) => seen.push(...work));
      await journal.pauseMapping("pull-requests", NOW);
      const wake = (mapping: string) => {
        const event = sampleEvent({ mapping, actions: [] });
        return { ...event, actions: [sampleWake("Disk is full.", event.id)] };
      };
      await journal.accept(wake("pull-requests"));
      expect(seen).not.toContain("heartbeat");
      expect(await journal.pendingSystemEvents()).toHaveLength(1);
      await journal.accept(wake("issues"));
      expect(seen).toContain("heartbeat");
    });
  });

  describe("releasing", () => {
    const { start } = useJournals(open);

    test("by id or by session, never what waits for a person", async () => {
      const journal = await start();
      const ids = await acceptRuns(journal, ["a", "b", "c", "d"]);
      await journal.claimRuns(9, NOW);
      const reasons = ["budget", "budget", "budget", "approval"];
      for (const [index, id] of ids.entries()) await journal.holdRun(claimOf(id), reasons[index]!);
      expect(await journal.releaseHeld({ runs: [ids[0]!, ids[3]!] })).toBe(1);
      expect(await journal.releaseHeld({ sessionKey: "b" })).toBe(1);
      expect(await journal.releaseHeld({ sessionKey: "d" })).toBe(0);
      expect(await journal.releaseHeld()).toBe(1);
      expect(await journal.listRuns({ limit: 9, state: "held" })).toMatchObject([{ id: ids[3] }]);
    });
  });
}

async function acceptRuns(journal: Journal, sessions: string[]): Promise<string[]> {
  const runs = sessions.map((session) => sampleRun(session));
  for (const run of runs) await journal.accept(sampleEvent({ actions: [run] }));
  return runs.map(({ runId }) => runId);
}
