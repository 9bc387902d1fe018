import { describe, expect, test } from "vitest";
import type { Idempotency, NewEvent } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, receiptOf, sampleEvent, sampleKeys, sampleOutcome, sampleRun, sampleWake, sweepAll } from "./samples.ts";

export function describeIdempotency(open: OpenJournal): void {
  describe("idempotency", () => {
    const { start, folder } = useJournals(open);

    test("a known key gives the first answer and commits nothing", async () => {
      const journal = await start();
      const first = sampleEvent({ idempotency: sampleKeys(["a"]), warnings: ["one"] });
      const answered = receiptOf(await journal.accept(first));
      const repeat = await journal.accept(sampleEvent({ idempotency: sampleKeys(["a"]) }));

      expect(repeat).toEqual({ kind: "replayed", receipt: { ...answered, replayed: true } });
      expect(await journal.stats()).toMatchObject({ events: 1, pendingRuns: 1 });
    });

    test("one of several concurrent duplicates is committed", async () => {
      const journal = await start();
      const results = await Promise.all(
        Array.from({ length: 50 }, () => journal.accept(sampleEvent({ idempotency: sampleKeys(["a"]) }))),
      );
      expect(results.filter((result) => result.kind === "committed")).toHaveLength(1);
      expect(new Set(results.map((result) => receiptOf(result).eventId)).size).toBe(1);
      expect(await journal.stats()).toMatchObject({ events: 1, pendingRuns: 1 });
    });

    test("a key is known only in its scope", async () => {
      const journal = await start();
      await journal.accept(sampleEvent({ idempotency: sampleKeys(["a"]) }));
      const other = sampleEvent({ idempotency: sampleKeys(["a"], { scope: "token:default gitlab" }) });
      expect(await journal.accept(other)).toMatchObject({ kind: "committed" });
    });

    test("other content under the key is a conflict if requested", async () => {
      const journal = await start();
      const strict = { conflictOnOtherContent: true };
      await journal.accept(sampleEvent({ idempotency: sampleKeys(["a"], strict) }));
      const same = sampleEvent({ idempotency: sampleKeys(["a"], strict) });
      const other = sampleEvent({ idempotency: sampleKeys(["a"], { ...strict, fingerprint: "other" }) });
      expect(await journal.accept(same)).toMatchObject({ kind: "replayed" });
      expect(await journal.accept(other)).toEqual({ kind: "conflict" });
      expect(await journal.stats()).toMatchObject({ events: 1 });
    });

    test("otherwise the first content is kept", async () => {
      const journal = await start();
      await journal.accept(sampleEvent({ idempotency: sampleKeys(["a"]) }));
      const other = sampleEvent({ idempotency: sampleKeys(["a"], { fingerprint: "other" }) });
      expect(await journal.accept(other)).toMatchObject({ kind: "replayed" });
    });

    test("an expired key is unknown, and stores the new receipt", async () => {
      const journal = await start();
      await journal.accept(sampleEvent({ actions: [sampleWake("w")], idempotency: sampleKeys(["a"]) }));
      const later = { receivedAt: NOW + 1000, idempotency: sampleKeys(["a"], { expiresAt: NOW + 2000 }) };
      const second = sampleEvent(later);
      expect(await journal.accept(second)).toMatchObject({ kind: "committed" });
      expect(receiptOf(await journal.accept(sampleEvent(later))).eventId).toBe(second.id);
    });

    test("an expired key is known while its event is unfinished", async () => {
      const journal = await start();
      const { runId, action } = sampleRun("s");
      const first = sampleEvent({ actions: [{ runId, action }], idempotency: sampleKeys(["a"]) });
      const repeat = () => sampleEvent({ receivedAt: NOW + 5000, idempotency: sampleKeys(["a"]) });
      await journal.accept(first);
      await sweepAll(journal, { now: NOW + 5000, keepFrom: NOW });
      expect(await journal.accept(repeat())).toMatchObject({ kind: "replayed" });

      await journal.claimRuns(1, NOW);
      await journal.completeRun(claimOf(runId), sampleOutcome());
      expect(await journal.accept(repeat())).toMatchObject({ kind: "committed" });
    });

    test("a sweep deletes all expired keys", async () => {
      const journal = await start();
      const events = Array.from({ length: 1200 }, (_, index) =>
        sampleEvent({ actions: [sampleWake("w")], idempotency: sampleKeys([`old ${index}`]) }),
      );
      const fresh = sampleEvent({ idempotency: sampleKeys(["fresh"], { expiresAt: NOW + 5000 }) });
      await Promise.all([...events, fresh].map((event) => journal.accept(event)));
      await sweepAll(journal, { now: NOW + 1000, keepFrom: NOW });

      // The read uses a time before the expiry, so that only the sweep can have deleted the key.
      const again = sampleEvent({ idempotency: sampleKeys(["old 1199"]) });
      expect(await journal.accept(again)).toMatchObject({ kind: "committed" });
      expect(await journal.accept(sampleEvent({ idempotency: sampleKeys(["fresh"]) }))).toMatchObject({
        kind: "replayed",
      });
    });

    test.each(["skipped", "rejected", "failed"] as const)("the keys of a %s event are free", async (status) => {
      const journal = await start();
      const use = { ...sampleKeys(["a"]), signature: { key: "s", expiresAt: NOW + 1000 } };
      await journal.accept(sampleEvent({ actions: [], status, idempotency: use }));
      expect(await journal.accept(sampleEvent({ idempotency: use }))).toMatchObject({ kind: "committed" });
    });

    test("a known key is recognized also by an event that is skipped now", async () => {
      const journal = await start();
      const first = sampleEvent({ idempotency: sampleKeys(["a"]) });
      await journal.accept(first);
      const skipped = sampleEvent({ actions: [], status: "skipped", idempotency: sampleKeys(["a"]) });
      expect(await journal.accept(skipped)).toMatchObject({ kind: "replayed", receipt: { eventId: first.id } });
    });

    test("a replay can be found without an accept", async () => {
      const journal = await start();
      const event = sampleEvent({ idempotency: sampleKeys(["a"], { expiresAt: Date.now() + 60_000 }) });
      const receipt = receiptOf(await journal.accept(event));
      const scope = "token:default github";
      expect(await journal.findReplay(scope, "a", "content")).toEqual({
        kind: "replayed",
        receipt: { ...receipt, replayed: true },
      });
      expect(await journal.findReplay(scope, "a", "other")).toEqual({ kind: "conflict" });
      expect(await journal.findReplay(scope, "b", "content")).toBeUndefined();
    });

    test("a key is known after a restart", async () => {
      const at = folder();
      const first = await start(at);
      await first.accept(sampleEvent({ idempotency: sampleKeys(["a"]) }));
      await first.close();
      const second = await start(at);
      const repeat = sampleEvent({ idempotency: sampleKeys(["a"]) });
      expect(await second.accept(repeat)).toMatchObject({ kind: "replayed" });
    });
  });

  describe("the signature of an event", () => {
    const { start, folder } = useJournals(open);
    const withSignature = (keys: string[], signature: string, parts: Partial<Idempotency> = {}): NewEvent =>
      sampleEvent({
        idempotency: sampleKeys(keys, { ...parts, signature: { key: signature, expiresAt: NOW + 5000 } }),
      });

    test.each<[string, string[], Partial<Idempotency>?]>([
      ["another key", ["b"]],
      ["no key", []],
      ["a key for each action", ["b"], { perAction: true }],
      ["another key that must have the same content", ["b"], { conflictOnOtherContent: true, fingerprint: "other" }],
    ])("is recognized with %s, also after a restart", async (_what, keys, parts = {}) => {
      const at = folder();
      const before = await start(at);
      const first = receiptOf(await before.accept(withSignature(["a"], "s")));
      const repeat = { kind: "replayed", receipt: { ...first, replayed: true } };
      expect(await before.accept(withSignature(keys, "s", parts))).toEqual(repeat);
      await before.close();
      const after = await start(at);
      expect(await after.accept(withSignature(keys, "s", parts))).toEqual(repeat);
      expect(await after.stats()).toMatchObject({ events: 1, pendingRuns: 1 });
    });

    test("of concurrent copies with different keys one is committed", async () => {
      const journal = await start();
      const copies = Array.from({ length: 20 }, (_, index) => journal.accept(withSignature([`k${index}`], "s")));
      const results = await Promise.all(copies);
      expect(results.filter(({ kind }) => kind === "committed")).toHaveLength(1);
      expect(await journal.stats()).toMatchObject({ events: 1, pendingRuns: 1 });
    });

    test("of a repeat under a known key is remembered too", async () => {
      const journal = await start();
      const first = receiptOf(await journal.accept(withSignature(["a"], "s1")));
      for (const [keys, signature] of [
        [["a"], "s2"],
        [["b"], "s2"],
      ] as const) {
        const repeat = await journal.accept(withSignature([...keys], signature));
        expect(repeat).toEqual({ kind: "replayed", receipt: { ...first, replayed: true } });
      }
      expect(await journal.accept(withSignature(["b"], "s3"))).toMatchObject({ kind: "committed" });
    });

    test("that does not cover the content is forged with other content", async () => {
      const journal = await start();
      const use = (fingerprint: string): NewEvent => {
        const signature = { key: "s", expiresAt: NOW + 5000, isContentUnsigned: true };
        return sampleEvent({ idempotency: sampleKeys([], { fingerprint, signature }) });
      };
      await journal.accept(use("one"));
      expect(await journal.accept(use("two"))).toEqual({ kind: "forged" });
      expect(await journal.accept(use("one"))).toMatchObject({ kind: "replayed" });
    });

    test("is not asked for by an event that is skipped", async () => {
      const journal = await start();
      await journal.accept(withSignature(["a"], "s"));
      const skipped: NewEvent = { ...withSignature(["b"], "s"), actions: [], status: "skipped" };
      expect(await journal.accept(skipped)).toMatchObject({ kind: "committed", receipt: { eventId: skipped.id } });
      expect(await journal.accept(withSignature(["b"], "s"))).toMatchObject({ kind: "replayed" });
    });

    test("expires at its own time", async () => {
      const journal = await start();
      const at = (receivedAt: number): NewEvent => {
        const event = withSignature(["a"], "s");
        return { ...event, receivedAt, actions: [sampleWake("w")] };
      };
      await journal.accept(at(NOW));
      expect(await journal.accept(at(NOW + 4000))).toMatchObject({ kind: "replayed" });
      expect(await journal.accept(at(NOW + 6000))).toMatchObject({ kind: "committed" });
    });
  });

  describe("idempotency of each action", () => {
    const { start } = useJournals(open);
    const each = (keys: string[]) => sampleKeys(keys, { perAction: true });

    test("known actions are dropped and get the receipt of the first one", async () => {
      const journal = await start();
      const [one, two, three] = [sampleRun("one"), sampleRun("two"), sampleRun("three")];
      await journal.accept(sampleEvent({ actions: [one, two], idempotency: each(["1", "2"]) }));
      const second = sampleEvent({ actions: [sampleRun("two"), three], idempotency: each(["2", "3"]) });

      expect(await journal.accept(second)).toEqual({
        kind: "committed",
        receipt: {
          eventId: second.id,
          actions: [
            { kind: "agent", runId: two.runId, sessionKey: "two", repeated: true },
            { kind: "agent", runId: three.runId, sessionKey: "three" },
          ],
          warnings: [],
          replayed: false,
        },
      });
      const runs = await journal.listRuns({ limit: 10 });
      expect(runs.map((run) => run.id)).toEqual([three.runId, two.runId, one.runId]);
      expect((await journal.getEvent(second.id))?.runs.map((run) => run.id)).toEqual([three.runId]);
    });

    test("a repeated action within the event is dropped too", async () => {
      const journal = await start();
      const first = sampleRun("one");
      const event = sampleEvent({ actions: [first, sampleRun("one")], idempotency: each(["1", "1"]) });
      const { actions } = receiptOf(await journal.accept(event));
      expect(actions.map((action) => action.runId)).toEqual([first.runId, first.runId]);
      expect(await journal.listRuns({ limit: 10 })).toHaveLength(1);
    });

    test("an event whose actions are all known is a replay of the first", async () => {
      const journal = await start();
      const first = sampleEvent({
        actions: [sampleRun("one"), sampleWake("two")],
        idempotency: each(["1", "2"]),
      });
      const { actions } = receiptOf(await journal.accept(first));
      const repeat = sampleEvent({
        actions: [sampleWake("two"), sampleRun("one")],
        idempotency: each(["2", "1"]),
      });
      expect(await journal.accept(repeat)).toEqual({
        kind: "replayed",
        receipt: { eventId: first.id, actions: actions.toReversed(), warnings: [], replayed: true },
      });
      expect(await journal.stats()).toMatchObject({ events: 1, pendingRuns: 1, pendingSystemEvents: 1 });
    });

    test("an event without new runs is done", async () => {
      const journal = await start();
      await journal.accept(sampleEvent({ actions: [sampleRun("one")], idempotency: each(["1"]) }));
      const second = sampleEvent({
        actions: [sampleRun("one"), sampleWake("w")],
        idempotency: each(["1", "2"]),
      });
      await journal.accept(second);
      expect(await journal.getEvent(second.id)).toMatchObject({ status: "done" });
    });

    test("an action with an empty key is always new", async () => {
      const journal = await start();
      const event = () => sampleEvent({ actions: [sampleRun("a"), sampleRun("b")], idempotency: each(["", ""]) });
      await journal.accept(event());
      await journal.accept(event());
      expect(await journal.stats()).toMatchObject({ events: 2, pendingRuns: 4 });
    });
  });
}
