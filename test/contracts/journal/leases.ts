import { describe, expect, test } from "vitest";
import type { ClaimedDelivery, ClaimedRun, Journal } from "../../../src/journal/journal.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import {
  NOW,
  nextId,
  sampleDelivery,
  sampleEntry,
  sampleEvent,
  sampleHeartbeat,
  sampleOutcome,
  sampleRun,
  sampleWake,
} from "./samples.ts";

const MINUTE = 60_000;
const ROUTE = { channel: "slack", to: "C1" } as const;

export function describeLeases(open: OpenJournal): void {
  const { start, folder } = useJournals(open);

  /** Two nodes on one journal, both with a valid lease. */
  async function startTwo(): Promise<[Journal, Journal]> {
    const at = folder();
    const [a, b] = [await start(at, { shared: true }), await start(at, { shared: true })];
    for (const node of [a, b]) await node.renewNode(MINUTE);
    return [a, b];
  }

  describe("a lost claim", () => {
    test.for(["taken over", "released", "ended"] as const)("of a run that was %s changes nothing", async (how) => {
      const [a, b] = await startTwo();
      const old = await claimRun(a);
      if (how === "taken over") await takeOver(a, b);
      if (how === "released") await a.releaseRun(old);
      if (how === "ended") await a.completeRun(old, sampleOutcome({ reply: "First." }));
      const [current] = how === "taken over" ? await b.claimRuns(1, NOW) : [];
      const before = await b.listRuns({ limit: 1 });

      const outcome = sampleOutcome({ entries: [sampleEntry()], deliveries: [sampleDelivery(old.id)] });
      const failure = { finishedAt: NOW, error: "late", entries: [sampleEntry()] };
      expect(await a.completeRun(old, outcome)).toBe(false);
      expect(await a.deadLetterRun(old, failure)).toBe(false);
      expect(await a.retryRun(old, NOW, "late")).toBe(false);
      expect(await a.releaseRun(old)).toBe(false);

      expect(await b.listRuns({ limit: 1 })).toEqual(before);
      expect(await b.listSessions({ limit: 1 })).toEqual([]);
      expect(await b.listDeliveries({ limit: 1 })).toEqual([]);
      if (current) expect(await b.completeRun(current, outcome)).toBe(true);
    });

    test("of a delivery that was taken over changes nothing", async () => {
      const [a, b] = await startTwo();
      const old = await claimDelivery(a);
      await takeOver(a, b);
      const [current] = await b.claimDeliveries(1, NOW + 10);
      const before = await b.listDeliveries({ limit: 1 });

      expect(await a.progressDelivery(old, { partsSent: 7, route: ROUTE })).toBe(false);
      expect(await a.retryDelivery(old, NOW, "late")).toBe(false);
      expect(await a.finishDelivery(old, { state: "sent", at: NOW, route: ROUTE, partsSent: 1 })).toBe(false);

      expect(await b.listDeliveries({ limit: 1 })).toEqual(before);
      expect(await b.lastRoute()).toBeUndefined();
      expect(await b.progressDelivery(current!, { partsSent: 1, route: ROUTE })).toBe(true);
    });

    test("a claim of an earlier attempt on the same node is lost too", async () => {
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

  describe("a node's lease", () => {
    test("keeps its work while it is renewed", async () => {
      const [a, b] = await startTwo();
      const run = await claimRun(a);
      await a.renewNode(MINUTE);
      expect(await b.renewNode(MINUTE)).toEqual({ runs: 0, deliveries: 0 });
      expect(await b.claimRuns(1, NOW)).toEqual([]);
      expect(await a.completeRun(run, sampleOutcome())).toBe(true);
    });

    test("returns its work to the others when it ends, attempts and sent parts kept", async () => {
      const [a, b] = await startTwo();
      const delivery = await claimDelivery(a);
      await a.progressDelivery(delivery, { partsSent: 1, route: ROUTE });
      const run = await claimRun(a);
      expect(await takeOver(a, b)).toEqual({ runs: 1, deliveries: 1 });
      expect(await b.claimRuns(10, NOW)).toMatchObject([{ id: run.id, attempts: 2 }]);
      expect(await b.claimDeliveries(10, NOW + 10)).toMatchObject([{ id: delivery.id, attempts: 2, partsSent: 1 }]);
    });

    test("ends when the node closes its journal", async () => {
      const [a, b] = await startTwo();
      const run = await claimRun(a);
      await a.close();
      await b.renewNode(MINUTE);
      expect(await b.claimRuns(10, NOW)).toMatchObject([{ id: run.id, attempts: 2 }]);
    });
  });

  describe("a named lease", () => {
    test("is held by one node, which gets the same lease again", async () => {
      const [a, b] = await startTwo();
      const lease = await a.lease("heartbeat");
      expect(lease).toMatchObject({ name: "heartbeat" });
      expect(await a.lease("heartbeat")).toEqual(lease);
      expect(await b.lease("heartbeat")).toBeUndefined();
      expect(await b.lease("sweep")).toBeDefined();
    });

    test("is free once it is released, and the old lease is outdated", async () => {
      const [a, b] = await startTwo();
      const old = await a.lease("heartbeat");
      await a.releaseLease(old!);
      const current = await b.lease("heartbeat");
      expect(current?.token).not.toBe(old?.token);
      await a.releaseLease(old!);
      expect(await a.lease("heartbeat")).toBeUndefined();
    });

    test("is free once its node's lease ends", async () => {
      const [a, b] = await startTwo();
      await a.lease("heartbeat");
      await a.renewNode(0);
      expect(await b.lease("heartbeat")).toBeDefined();
      await a.renewNode(MINUTE);
      expect(await a.lease("heartbeat")).toBeUndefined();
    });

    test("a heartbeat under an outdated lease records and consumes nothing", async () => {
      const [a, b] = await startTwo();
      await a.accept(sampleEvent({ actions: [sampleWake("one")] }));
      const [{ seq } = { seq: 0 }] = await a.pendingSystemEvents();
      const old = await sampleHeartbeat(a, { consumedSeqs: [seq] });
      await a.renewNode(0);
      const current = await sampleHeartbeat(b, { consumedSeqs: [seq] });

      expect(await a.completeHeartbeat(old, sampleOutcome({ entries: [sampleEntry()] }))).toBe(false);
      expect(await b.pendingSystemEvents()).toHaveLength(1);
      expect(await b.listRuns({ limit: 1 })).toEqual([]);
      expect(await b.listSessions({ limit: 10 })).toMatchObject([{ key: "main", entries: 1 }]);
      expect(await b.completeHeartbeat(current, sampleOutcome())).toBe(true);
      expect(await b.pendingSystemEvents()).toEqual([]);
    });
  });
}

/** Ends the lease of `from` and lets the other node recover its work. */
async function takeOver(from: Journal, to: Journal): Promise<{ runs: number; deliveries: number }> {
  await from.renewNode(0);
  return to.renewNode(MINUTE);
}

async function claimRun(journal: Journal): Promise<ClaimedRun> {
  await journal.accept(sampleEvent({ actions: [sampleRun(nextId())] }));
  const [run] = await journal.claimRuns(1, NOW);
  return run!;
}

async function claimDelivery(journal: Journal): Promise<ClaimedDelivery> {
  const run = await claimRun(journal);
  await journal.completeRun(run, sampleOutcome({ deliveries: [sampleDelivery(run.id, { eventId: run.eventId })] }));
  const [delivery] = await journal.claimDeliveries(1, NOW + 10);
  return delivery!;
}
