import { describe, expect, test } from "vitest";
import type { AcceptResult, Journal, NewEvent } from "../../../src/core/journal/journal.ts";
import { MAX_STATE_KEYS } from "../../../src/core/journal/state-refusal.ts";
import type { NewState } from "../../../src/core/types.ts";
import { type OpenJournal, useJournals } from "./harness.ts";
import { sampleEvent, sampleKeys, sweepAll } from "./samples.ts";

const DAY_MS = 86_400_000;

function stateEvent(state: Partial<NewState>, parts: Partial<NewEvent> = {}): NewEvent {
  return sampleEvent({
    mapping: "counter",
    status: "skipped",
    actions: [],
    state: { name: "counter", reads: [], sets: [], ...state },
    ...parts,
  });
}

async function set(journal: Journal, sets: NewState["sets"], name = "counter"): Promise<AcceptResult> {
  return journal.accept(stateEvent({ name, sets }));
}

async function read(journal: Journal, keys: string[], name = "counter"): Promise<Record<string, string>> {
  const rows = await journal.readState(name, keys);
  return Object.fromEntries(rows.map(({ key, json }) => [key, json]));
}

async function versionOf(journal: Journal, key: string): Promise<string | undefined> {
  return (await journal.readState("counter", [key]))[0]?.version;
}

export function describeState(open: OpenJournal): void {
  const { folder, start } = useJournals(open);

  describe("a state", () => {
    test("is what events of its name set, of whatever mapping, and is there after a restart", async () => {
      const at = folder();
      const before = await start(at);
      const odd = JSON.stringify(["\0", "\ud800", "é"]);
      await set(before, [
        { key: "a", json: "1" },
        { key: "b", json: odd },
      ]);
      await set(before, [{ key: "a", json: "2" }]);
      await set(before, [{ key: "a", json: "3" }], "other");
      await before.accept(stateEvent({ sets: [{ key: "c", json: "4" }] }, { mapping: "other" }));
      // One name and key are not another, however they are joined.
      await set(before, [{ key: "b\nc", json: "5" }], "a");
      await before.close();
      const journal = await start(at);
      expect(await read(journal, ["a", "b", "c", "none"])).toEqual({ a: "2", b: odd, c: "4" });
      expect(await read(journal, ["a", "c"], "other")).toEqual({ a: "3" });
      expect(await read(journal, ["c"], "a\nb")).toEqual({});
      await set(journal, [{ key: "a" }]);
      expect(await read(journal, ["a", "b"])).toEqual({ b: odd });
    });

    test("that changed since it was read refuses the event, which leaves nothing behind", async () => {
      const journal = await start();
      await set(journal, [{ key: "a", json: "1" }]);
      const version = await versionOf(journal, "a");
      await set(journal, [{ key: "a", json: "1" }]);
      expect(await versionOf(journal, "a")).not.toBe(version);
      const late = stateEvent({ reads: [{ key: "a", version }], sets: [{ key: "b", json: "1" }] });
      expect(await journal.accept(late)).toEqual({ kind: "state-changed" });
      expect(await read(journal, ["a", "b"])).toEqual({ a: "1" });
      expect(await journal.getEvent(late.id)).toBeUndefined();
      const again = {
        ...late,
        state: { ...late.state!, reads: [{ key: "a", version: await versionOf(journal, "a") }] },
      };
      expect(await journal.accept(again)).toMatchObject({ kind: "committed" });
      expect(await read(journal, ["b"])).toEqual({ b: "1" });
    });

    test("a key that was read without a value is compared, too, also if it had one in between", async () => {
      const journal = await start();
      const event = (): NewEvent => stateEvent({ reads: [{ key: "a" }], sets: [{ key: "a", json: "1" }] });
      const results = await Promise.all([event(), event(), event()].map(journal.accept));
      expect(results.map(({ kind }) => kind).toSorted()).toEqual(["committed", "state-changed", "state-changed"]);
      const version = await versionOf(journal, "a");
      await set(journal, [{ key: "a" }]);
      await set(journal, [{ key: "a", json: "1" }]);
      const late = stateEvent({ reads: [{ key: "a", version }] });
      expect(await journal.accept(late)).toEqual({ kind: "state-changed" });
    });

    test("events that only set do not refuse each other, and the last one counts", async () => {
      const journal = await start();
      const results = await Promise.all([1, 2, 3].map((n) => set(journal, [{ key: "a", json: String(n) }])));
      expect(results.map(({ kind }) => kind)).toEqual(["committed", "committed", "committed"]);
      expect(await read(journal, ["a"])).toEqual({ a: "3" });
    });

    test("a repeat sets nothing, also one of an event that was skipped", async () => {
      const journal = await start();
      const idempotency = sampleKeys(["k"], { conflictOnOtherContent: true });
      const first = stateEvent({ reads: [{ key: "a" }], sets: [{ key: "a", json: "1" }] }, { idempotency });
      expect(await journal.accept(first)).toMatchObject({ kind: "committed" });
      const repeat = stateEvent({ reads: [{ key: "a" }], sets: [{ key: "a", json: "2" }] }, { idempotency });
      expect(await journal.accept(repeat)).toMatchObject({ kind: "replayed", receipt: { eventId: first.id } });
      expect(await read(journal, ["a"])).toEqual({ a: "1" });
    });

    test("a copy of a signed request sets nothing", async () => {
      const journal = await start();
      const signature = { key: "signature 1", expiresAt: Date.now() + DAY_MS };
      const idempotency = sampleKeys([], { signature });
      const copies = [1, 2].map((n) => stateEvent({ sets: [{ key: "a", json: String(n) }] }, { idempotency }));
      const kinds = [];
      for (const copy of copies) kinds.push((await journal.accept(copy)).kind);
      expect(kinds).toEqual(["committed", "replayed"]);
      expect(await read(journal, ["a"])).toEqual({ a: "1" });
    });

    test("ends with its ttl, and is swept", async () => {
      const journal = await start();
      await set(journal, [
        { key: "short", json: "1", ttlMs: 1 },
        { key: "day", json: "1", ttlMs: DAY_MS },
        { key: "always", json: "1" },
      ]);
      await expect.poll(() => read(journal, ["short", "day"])).toEqual({ day: "1" });
      expect(await set(journal, [{ key: "short", json: "2" }])).toMatchObject({ kind: "committed" });
      expect(await read(journal, ["short"])).toEqual({ short: "2" });
      await sweepAll(journal, { now: Date.now() + 2 * DAY_MS, keepFrom: 0 });
      expect(await read(journal, ["short", "day", "always"])).toEqual({ short: "2", always: "1" });
    });

    test("has a limit of keys, which those that have expired do not count for", async () => {
      const journal = await start();
      const keys = (count: number, prefix: string, ttlMs?: number): NewState["sets"] =>
        Array.from({ length: count }, (_, n) => ({ key: `${prefix}${n}`, json: "1", ttlMs }));
      expect(await set(journal, keys(MAX_STATE_KEYS - 1, "short", 1))).toMatchObject({ kind: "committed" });
      await expect.poll(() => read(journal, ["short0"])).toEqual({});
      expect(await set(journal, keys(MAX_STATE_KEYS, "k"))).toMatchObject({ kind: "committed" });
      expect(await set(journal, keys(1, "more"))).toEqual({ kind: "state-full" });
      expect(await set(journal, keys(1, "more"), "other")).toMatchObject({ kind: "committed" });
      expect(await set(journal, [{ key: "k0", json: "2" }])).toMatchObject({ kind: "committed" });
      await set(journal, [{ key: "k0" }]);
      expect(await set(journal, keys(1, "more"))).toMatchObject({ kind: "committed" });
    });
  });
}
