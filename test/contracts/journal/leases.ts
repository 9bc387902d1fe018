import { describe, expect, test } from "vitest";
import type { Journal } from "../../../src/core/journal/journal.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { claimDelivery, claimRun, expectUnchanged } from "./lost-claims.ts";
import {
  NOW,
  nextId,
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
    const [a, b] = [await start(at), await start(at)];
    for (const node of [a, b]) await node.renewNode(MINUTE);
    return [a, b];
  }

  describe("a lost claim", () => {
    test("of a run that was taken over changes nothing", async () => {
      const [a, b] = await startTwo();
      const old = await claimRun(a);
      await takeOver(a, b);
      const [current] = await b.claimRuns(1, NOW);
      await expectUnchanged(a, old);
      expect(await b.completeRun(current!, sampleOutcome())).toBe(true);
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
  });

  test("mappings take turns: the running runs of all nodes count", async () => {
    const [a, b] = await startTwo();
    for (const mapping of ["busy", "busy", "quiet"]) {
      await a.accept(sampleEvent({ mapping, actions: [sampleRun(mapping + nextId())] }));
    }
    expect(await a.claimRuns(1, NOW)).toMatchObject([{ mapping: "busy" }]);
    expect(await b.claimRuns(1, NOW)).toMatchObject([{ mapping: "quiet" }]);
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
      const [failed] = (await b.getRun(run.id))?.failedAttempts ?? [];
      expect(failed).toEqual({ n: 1, startedAt: NOW, error: "the service ended during this attempt" });
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

    test("is reported to the others once it is released", async () => {
      const journal = await start();
      const reported: string[] = [];
      journal.watch((work) => reported.push(...work));
      const lease = await journal.lease("heartbeat");
      expect(reported).toEqual([]);
      await journal.releaseLease(lease!);
      expect(reported).toEqual(["lease"]);
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
