import { describe, expect, test } from "vitest";
import type { Journal } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, nextId, sampleDelivery, sampleEntry, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

export function describeRuns(open: OpenJournal): void {
  describe("runs", () => {
    const { start, folder } = useJournals(open);

    test("one session runs strictly in order, one at a time", async () => {
      const journal = await start();
      const ids = await acceptRuns(journal, ["s", "s", "s"]);
      const order: string[] = [];
      for (;;) {
        const claimed = await journal.claimRuns(10, NOW);
        if (claimed.length === 0) break;
        expect(claimed).toHaveLength(1);
        order.push(...claimed.map((run) => run.id));
        await completeAll(journal, claimed);
      }
      expect(order).toEqual(ids);
    });

    test("different sessions run concurrently, oldest first, up to the limit", async () => {
      const journal = await start();
      const [a, , b, c] = await acceptRuns(journal, ["a", "a", "b", "c"]);
      expect(await claimedIds(journal, 2)).toEqual([a, b]);
      expect(await claimedIds(journal, 2)).toEqual([c]);
      expect(await claimedIds(journal, 2)).toEqual([]);
    });

    test("the runs of one event keep their order", async () => {
      const journal = await start();
      const actions = [sampleRun("s"), sampleRun("s"), sampleRun("t")];
      await journal.accept(sampleEvent({ actions }));
      expect(await claimedIds(journal, 10)).toEqual([actions[0]?.runId, actions[2]?.runId]);
    });

    test("a claim counts an attempt and records the start", async () => {
      const journal = await start();
      await acceptRuns(journal, ["s"]);
      const [run] = await journal.claimRuns(1, NOW + 5);
      expect(run).toMatchObject({ state: "running", attempts: 1, startedAt: NOW + 5 });
      expect([run]).toMatchObject(await journal.listRuns({ limit: 1 }));
    });

    test("a retried run waits until it is due, and its session waits behind it", async () => {
      const journal = await start();
      const [first, second, other] = await acceptRuns(journal, ["s", "s", "t"]);
      await journal.claimRuns(1, NOW);
      await journal.retryRun(claimOf(first!), NOW + 499.5, "busy");

      expect(await claimedIds(journal, 10)).toEqual([other]);
      expect(await journal.nextDueAt()).toBe(NOW + 500);
      const [again] = await journal.claimRuns(10, NOW + 500);
      expect(again).toMatchObject({ id: first, attempts: 2, error: "busy" });
      await completeAll(journal, [again!]);
      expect(await claimedIds(journal, 10)).toEqual([second]);
    });

    test("a run that is given back waits, and its attempt does not count", async () => {
      const journal = await start();
      const [first] = await acceptRuns(journal, ["s"]);
      await journal.claimRuns(1, NOW);
      await journal.giveBackRun(claimOf(first!), NOW + 500, { error: "not here" });
      expect(await journal.claimRuns(10, NOW + 499)).toEqual([]);
      expect(await journal.claimRuns(10, NOW + 500)).toMatchObject([{ id: first, attempts: 1, error: "not here" }]);
    });

    test("a run that waits for a provider keeps the start of the outage until it has another error or is finished", async () => {
      const journal = await start();
      const [first] = await acceptRuns(journal, ["s"]);
      const read = async (): Promise<object> => {
        const { unavailableSince, waitingFor } = (await journal.getRun(first!))!;
        return { unavailableSince, waitingFor };
      };
      const outage = { error: "overloaded", unavailableSince: NOW - 5000, waitingFor: "openai" };
      await journal.claimRuns(1, NOW);
      await journal.giveBackRun(claimOf(first!), NOW, outage);
      expect(await read()).toEqual({ unavailableSince: NOW - 5000, waitingFor: "openai" });
      expect((await journal.listEvents({ limit: 1 }))[0]?.run).toMatchObject({ waitingFor: "openai", attempts: 0 });

      const [claimed] = await journal.claimRuns(1, NOW);
      expect(claimed).toMatchObject({ attempts: 1, unavailableSince: NOW - 5000, waitingFor: undefined });
      await journal.releaseRun(claimed!);
      expect(await read()).toMatchObject({ unavailableSince: NOW - 5000 });

      const [again] = await journal.claimRuns(1, NOW);
      await journal.retryRun(again!, NOW, "busy");
      expect(await read()).toEqual({ unavailableSince: undefined, waitingFor: undefined });

      const [third] = await journal.claimRuns(1, NOW);
      await journal.giveBackRun(third!, NOW, outage);
      const [last] = await journal.claimRuns(1, NOW);
      await journal.deadLetterRun(last!, { finishedAt: NOW, error: "overloaded", entries: [] });
      expect(await read()).toEqual({ unavailableSince: undefined, waitingFor: undefined });
      await journal.retryDeadLetter(first!, NOW);
      expect(await read()).toEqual({ unavailableSince: undefined, waitingFor: undefined });
    });

    test("a run that waits for a provider starts at once when it is to try again, another one waits on", async () => {
      const journal = await start();
      await acceptRuns(journal, ["one", "other"]);
      for (const [run, waitingFor] of [...(await journal.claimRuns(2, NOW))].map(
        (one, at) => [one, `lab-${at}`] as const,
      ))
        await journal.giveBackRun(run, NOW + 60_000, { error: "down", unavailableSince: NOW, waitingFor });
      expect(await journal.claimRuns(2, NOW)).toEqual([]);
      expect(await journal.tryAgain("lab-1")).toBe(1);
      expect(await journal.claimRuns(2, NOW)).toHaveLength(1);
      expect(await journal.tryAgain("nobody")).toBe(0);
    });

    test("a released run is as if it had not been claimed", async () => {
      const journal = await start();
      const [first] = await acceptRuns(journal, ["s", "s"]);
      await journal.claimRuns(1, NOW);
      await journal.releaseRun(claimOf(first!));
      await journal.releaseRun(claimOf(first!));
      expect(await journal.claimRuns(10, NOW)).toMatchObject([{ id: first, attempts: 1 }]);
    });

    test("a held run is as if it had not been claimed, and its session waits behind it until it is released", async () => {
      const at = folder();
      const journal = await start(at);
      const [first, , other] = await acceptRuns(journal, ["s", "s", "t"]);
      await journal.claimRuns(1, NOW);
      expect(await journal.holdRun(claimOf(first!), "budget")).toBe(true);
      expect(await journal.holdRun(claimOf(first!), "again")).toBe(false);
      expect(await journal.completeRun(claimOf(first!), sampleOutcome())).toBe(false);
      expect(await journal.listRuns({ limit: 10, state: "held" })).toMatchObject([
        { id: first, attempts: 0, holdReason: "budget" },
      ]);
      expect(await journal.stats()).toMatchObject({ pendingRuns: 3 });
      expect(await claimedIds(journal, 10)).toEqual([other]);
      expect(await journal.nextDueAt()).toBeUndefined();
      await journal.close();

      const restarted = await start(at);
      expect(await restarted.claimRuns(10, NOW)).toMatchObject([{ id: other }]);
      expect(await restarted.releaseHeld()).toBe(1);
      const [again] = await restarted.claimRuns(10, NOW);
      expect(again).toMatchObject({ id: first, attempts: 1 });
      expect(again?.holdReason).toBeUndefined();
      expect(again?.released).toBeUndefined();
      await restarted.holdRun(again!, "budget");
      expect(await restarted.releaseHeld({ forGood: true })).toBe(1);
      expect(await restarted.claimRuns(1, NOW)).toMatchObject([{ id: first, released: true, holdReason: undefined }]);
    });

    test("held runs are released all at once, or those with one reason", async () => {
      const journal = await start();
      const ids = await acceptRuns(journal, ["a", "b", "c"]);
      await journal.claimRuns(10, NOW);
      for (const [index, id] of ids.entries()) await journal.holdRun(claimOf(id), index < 2 ? "budget" : "loop");
      expect(await journal.releaseHeld({ reason: "no such" })).toBe(0);
      expect(await journal.releaseHeld({ reason: "loop" })).toBe(1);
      expect(await claimedIds(journal, 10)).toEqual([ids[2]]);
      expect(await journal.releaseHeld()).toBe(2);
      expect(await claimedIds(journal, 10)).toEqual(ids.slice(0, 2));
    });

    test("a dead run that is retried waits behind the held one of its session", async () => {
      const journal = await start();
      const [dead, held] = await acceptRuns(journal, ["s", "s"]);
      await journal.claimRuns(1, NOW);
      await journal.deadLetterRun(claimOf(dead!), { finishedAt: NOW, error: "no", entries: [] });
      await journal.claimRuns(1, NOW);
      await journal.holdRun(claimOf(held!), "budget");
      await journal.retryDeadLetter(dead!, NOW);
      expect(await claimedIds(journal, 10)).toEqual([]);
      await journal.releaseHeld();
      expect(await claimedIds(journal, 10)).toEqual([held]);
    });

    test("a completed run keeps its result", async () => {
      const journal = await start();
      await acceptRuns(journal, ["s"]);
      const [run] = await journal.claimRuns(1, NOW);
      await journal.retryRun(claimOf(run!.id), NOW, "busy");
      await journal.claimRuns(1, NOW);
      const outcome = sampleOutcome({ model: "echo/echo", usage: { inputTokens: 3 }, warnings: ["lowered"] });
      await journal.completeRun(claimOf(run!.id), outcome);

      const [done] = await journal.listRuns({ limit: 1 });
      expect(done).toMatchObject({ state: "done", attempts: 2, finishedAt: NOW + 10, reply: "Done." });
      expect(done).toMatchObject({ model: "echo/echo", usage: { inputTokens: 3 }, warnings: ["lowered"] });
      expect(done?.error).toBeUndefined();
    });

    test("a run's end, its entries and its deliveries are one commit", async () => {
      const journal = await start();
      const [id] = await acceptRuns(journal, ["s"]);
      const [run] = await journal.claimRuns(1, NOW);
      const delivery = sampleDelivery(id!, { eventId: run!.eventId });
      const entries = [sampleEntry({ sessionKey: "s" }), sampleEntry({ sessionKey: "s", role: "assistant" })];
      const broken = sampleOutcome({ entries, deliveries: [delivery, delivery] });

      await expect(journal.completeRun(claimOf(id!), broken)).rejects.toBeInstanceOf(Error);
      expect(await journal.listRuns({ limit: 1 })).toMatchObject([{ state: "running" }]);
      expect((await journal.getSession("s", { limit: 10 }))?.entries).toEqual([]);
      expect(await journal.listDeliveries({ limit: 10 })).toEqual([]);

      await journal.completeRun(claimOf(id!), sampleOutcome({ entries, deliveries: [delivery] }));
      expect((await journal.getSession("s", { limit: 10 }))?.entries).toHaveLength(2);
      expect(await journal.listDeliveries({ limit: 10 })).toHaveLength(1);
    });

    test("a dead-lettered run lets the next of its session start", async () => {
      const journal = await start();
      const [first, second] = await acceptRuns(journal, ["s", "s"]);
      await journal.claimRuns(1, NOW);
      const entries = [sampleEntry({ sessionKey: "main", role: "system", text: "Hook (error): no.", pending: true })];
      await journal.deadLetterRun(claimOf(first!), { finishedAt: NOW + 1, error: "no", entries });

      expect(await journal.listRuns({ limit: 10, state: "dead" })).toMatchObject([
        { id: first, error: "no", finishedAt: NOW + 1 },
      ]);
      expect(await journal.pendingSystemEvents()).toMatchObject([{ text: "Hook (error): no." }]);
      expect(await claimedIds(journal, 10)).toEqual([second]);
    });

    test("ending an unknown, waiting or finished run changes nothing", async () => {
      const journal = await start();
      const [id] = await acceptRuns(journal, ["s"]);
      const outcome = sampleOutcome({ entries: [sampleEntry()], deliveries: [sampleDelivery(id!)] });
      const failure = { finishedAt: NOW, error: "no", entries: [sampleEntry()] };

      await journal.completeRun(claimOf(id!), outcome);
      await journal.deadLetterRun(claimOf(nextId()), failure);
      expect(await journal.listSessions({ limit: 10 })).toEqual([]);

      await journal.claimRuns(1, NOW);
      await journal.completeRun(claimOf(id!), sampleOutcome());
      await journal.completeRun(claimOf(id!), outcome);
      await journal.deadLetterRun(claimOf(id!), failure);
      await journal.retryRun(claimOf(id!), NOW, "late");
      expect(await journal.listRuns({ limit: 10 })).toMatchObject([{ state: "done", reply: "Done." }]);
      expect(await journal.listSessions({ limit: 10 })).toEqual([]);
      expect(await journal.listDeliveries({ limit: 10 })).toEqual([]);
    });

    test("interrupted runs start again after a restart, in order, attempts kept", async () => {
      const at = folder();
      const first = await start(at);
      const [head, next] = await acceptRuns(first, ["s", "s"]);
      await first.claimRuns(10, NOW);
      await first.close();

      const second = await start(at);
      const [again] = await second.claimRuns(10, NOW);
      expect(again).toMatchObject({ id: head, attempts: 2 });
      await completeAll(second, [again!]);
      expect(await claimedIds(second, 10)).toEqual([next]);
    });
  });

  describe("an event", () => {
    const { start } = useJournals(open);

    test("is done with the last of its runs and deliveries", async () => {
      const journal = await start();
      const actions = [sampleRun("a"), sampleRun("b")];
      const event = sampleEvent({ actions });
      await journal.accept(event);
      await journal.claimRuns(10, NOW);
      const delivery = sampleDelivery(actions[0]!.runId, { eventId: event.id });

      await journal.completeRun(claimOf(actions[0]!.runId), sampleOutcome({ deliveries: [delivery] }));
      expect(await statusOf(journal, event.id)).toBe("accepted");
      await journal.completeRun(claimOf(actions[1]!.runId), sampleOutcome());
      expect(await statusOf(journal, event.id)).toBe("accepted");

      await journal.claimDeliveries(10, NOW + 10);
      const route = { channel: "slack", to: "C1" } as const;
      await journal.finishDelivery(claimOf(delivery.id), { state: "sent", at: NOW + 20, route, partsSent: 1 });
      expect(await statusOf(journal, event.id)).toBe("done");
    });

    test("is dead once a run is dead-lettered and nothing else is left", async () => {
      const journal = await start();
      const actions = [sampleRun("a"), sampleRun("b")];
      const event = sampleEvent({ actions });
      await journal.accept(event);
      await journal.claimRuns(10, NOW);
      await journal.deadLetterRun(claimOf(actions[0]!.runId), { finishedAt: NOW, error: "no", entries: [] });
      expect(await statusOf(journal, event.id)).toBe("accepted");
      await journal.completeRun(claimOf(actions[1]!.runId), sampleOutcome());
      expect(await statusOf(journal, event.id)).toBe("failed");
    });

    test("is dead once a delivery failed permanently", async () => {
      const journal = await start();
      const action = sampleRun("a");
      const event = sampleEvent({ actions: [action] });
      await journal.accept(event);
      await journal.claimRuns(10, NOW);
      const delivery = sampleDelivery(action.runId, { eventId: event.id });
      await journal.completeRun(claimOf(action.runId), sampleOutcome({ deliveries: [delivery] }));
      await journal.claimDeliveries(10, NOW + 10);
      await journal.finishDelivery(claimOf(delivery.id), { state: "failed", at: NOW + 20, error: "no such channel" });
      expect(await statusOf(journal, event.id)).toBe("failed");
    });
  });
}

/** Accepts one event per session key, all at the same time, and returns their run ids. */
async function acceptRuns(journal: Journal, sessionKeys: string[]): Promise<string[]> {
  const actions = sessionKeys.map((key) => sampleRun(key));
  for (const action of actions) await journal.accept(sampleEvent({ actions: [action] }));
  return actions.map((action) => action.runId);
}

async function claimedIds(journal: Journal, limit: number): Promise<string[]> {
  return (await journal.claimRuns(limit, NOW)).map((run) => run.id);
}

async function completeAll(journal: Journal, runs: { id: string }[]): Promise<void> {
  await Promise.all(runs.map((run) => journal.completeRun(claimOf(run.id), sampleOutcome())));
}

async function statusOf(journal: Journal, eventId: string): Promise<string | undefined> {
  return (await journal.getEvent(eventId))?.status;
}
