import { describe, expect, test } from "vitest";
import type { Journal, NewAction, NewEvent } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, receiptOf, sampleDelivery, sampleEvent, sampleKeys, sampleOutcome, sampleRun } from "./samples.ts";

const CLOSES_AT = NOW + 1000;

export function describeCoalescing(open: OpenJournal): void {
  describe("coalescing", () => {
    const { start, folder } = useJournals(open);

    test("events in the window join the run of the first one, which starts when the window closes", async () => {
      const journal = await start();
      const first = receiptOf(await journal.accept(sample("one")));
      const second = receiptOf(await journal.accept(sample("two", { receivedAt: NOW + 999 })));
      const [action] = first.actions;
      expect(second.actions).toEqual([{ ...action, coalesced: true }]);
      expect(action).not.toHaveProperty("coalesced");

      expect(await journal.claimRuns(10, CLOSES_AT - 1)).toEqual([]);
      expect(await journal.nextDueAt()).toBe(CLOSES_AT);
      const [run, ...others] = await journal.claimRuns(10, CLOSES_AT);
      expect(others).toEqual([]);
      expect(run).toMatchObject({
        id: action?.runId,
        action: { message: "one" },
        joined: { messages: ["two"], leftOut: 0 },
      });
    });

    test("an event with another key, or after the window, gets its own run", async () => {
      const journal = await start();
      await journal.accept(sample("one"));
      await journal.accept(sample("elsewhere", {}, "other"));
      const late = receiptOf(await journal.accept(sample("late", { receivedAt: CLOSES_AT })));
      expect(late.actions[0]).not.toHaveProperty("coalesced");
      expect(await journal.stats()).toMatchObject({ pendingRuns: 3 });
    });

    test("nothing joins a run that has started, not even while it waits for a retry", async () => {
      const journal = await start();
      await journal.accept(sample("one"));
      const [run] = await journal.claimRuns(10, CLOSES_AT);
      await journal.retryRun(claimOf(run!.id), CLOSES_AT + 5000, "busy");
      const next = receiptOf(await journal.accept(sample("two")));
      expect(next.actions[0]?.runId).not.toBe(run?.id);
    });

    test("nothing joins a run that is still queued after its window has closed", async () => {
      const journal = await start();
      await journal.accept(sampleEvent({ actions: [sampleRun("s")] }));
      const first = receiptOf(await journal.accept(sample("one", {}, "key", "s")));
      const late = receiptOf(await journal.accept(sample("late", { receivedAt: CLOSES_AT }, "key", "s")));
      const later = receiptOf(await journal.accept(sample("later", { receivedAt: CLOSES_AT + 1 }, "key", "s")));
      expect(late.actions[0]?.runId).not.toBe(first.actions[0]?.runId);
      expect(later.actions[0]).toMatchObject({ runId: late.actions[0]?.runId, coalesced: true });
    });

    test("each event lists the run, ends with it and shows its results", async () => {
      const journal = await start();
      const events = [sample("one"), sample("two"), sample("three")];
      for (const event of events) await journal.accept(event);
      expect(await statuses(journal, events)).toEqual(["accepted", "accepted", "accepted"]);

      const [run] = await journal.claimRuns(10, CLOSES_AT);
      const delivery = sampleDelivery(run!.id, { eventId: run!.eventId });
      await journal.completeRun(claimOf(run!.id), sampleOutcome({ deliveries: [delivery] }));
      expect(await statuses(journal, events)).toEqual(["accepted", "accepted", "accepted"]);
      for (const { id } of events) {
        expect(await journal.getEvent(id)).toMatchObject({
          runs: [{ id: run!.id, state: "done", joined: { messages: ["two", "three"] } }],
          deliveries: [{ id: delivery.id }],
        });
      }
      await journal.claimDeliveries(10, NOW + 20);
      await journal.finishDelivery(claimOf(delivery.id), { state: "failed", at: NOW + 30, error: "gone" });
      expect(await statuses(journal, events)).toEqual(["failed", "failed", "failed"]);
    });

    test("two actions of one event can be one run", async () => {
      const journal = await start();
      const event = sampleEvent({ actions: [windowed("one", "key"), windowed("two", "key")] });
      const { actions } = receiptOf(await journal.accept(event));
      expect(actions[1]).toEqual({ ...actions[0], coalesced: true });
      const [run] = await journal.claimRuns(10, CLOSES_AT);
      expect(run).toMatchObject({ action: { message: "one" }, joined: { messages: ["two"] } });
      await journal.completeRun(claimOf(run!.id), sampleOutcome());
      expect(await statuses(journal, [event])).toEqual(["done"]);
    });

    test("a run has the context of the last event that joined", async () => {
      const journal = await start();
      const call = { call: "tickets.show", arguments: { id: 7 }, title: "The ticket" };
      const withContext = (message: string, context?: (typeof call)[]): NewEvent => {
        const event = sample(message);
        for (const { action } of event.actions) if (action.kind === "agent") action.context = context;
        return event;
      };
      await journal.accept(withContext("one", [call]));
      await journal.accept(withContext("two", []));
      await journal.accept(withContext("three", [{ ...call, arguments: { id: 9 } }]));
      const [run] = await journal.claimRuns(10, CLOSES_AT);
      expect(run).toMatchObject({
        action: { context: [call] },
        joined: { access: { context: [{ arguments: { id: 9 } }] } },
      });
    });

    test("a duplicate of an event that joined gets the same receipt and adds nothing", async () => {
      const journal = await start();
      await journal.accept(sample("one"));
      const joined = sample("two", { idempotency: sampleKeys(["2"]) });
      const answered = receiptOf(await journal.accept(joined));
      const again = await journal.accept(sample("two", { idempotency: sampleKeys(["2"]) }));
      expect(again).toEqual({ kind: "replayed", receipt: { ...answered, replayed: true } });
      const [run] = await journal.claimRuns(10, CLOSES_AT);
      expect(run?.joined).toEqual({ messages: ["two"], leftOut: 0 });
    });

    test("an action that is dropped as a duplicate does not open a window", async () => {
      const journal = await start();
      const each = (keys: string[]) => sampleKeys(keys, { perAction: true });
      await journal.accept(sampleEvent({ actions: [sampleRun("s")], idempotency: each(["1"]) }));
      const actions = [windowed("one", "key"), windowed("two", "key")];
      await journal.accept(sampleEvent({ actions, idempotency: each(["1", "2"]) }));
      const claimed = await journal.claimRuns(10, CLOSES_AT);
      expect(claimed.map((run) => [run.action?.message, run.joined])).toEqual([
        ["Look at this.", undefined],
        ["two", undefined],
      ]);
    });

    test("the first hundred messages are stored, and the others are counted", async () => {
      const journal = await start();
      const events = Array.from({ length: 131 }, (_, index) => sample(`message ${index}`));
      // A driver may commit more than a hundred at a time in any order.
      for (const group of [events.slice(0, 101), events.slice(101)]) {
        await Promise.all(group.map((event) => journal.accept(event)));
      }
      const [run] = await journal.claimRuns(10, CLOSES_AT);
      expect(run?.joined?.messages).toEqual(Array.from({ length: 100 }, (_, index) => `message ${index + 1}`));
      expect(run?.joined?.leftOut).toBe(30);
      await journal.completeRun(claimOf(run!.id), sampleOutcome());
      expect(new Set(await statuses(journal, events))).toEqual(new Set(["done"]));
    });

    test("an open window survives a restart", async () => {
      const at = folder();
      const before = await start(at);
      await before.accept(sample("one"));
      await before.accept(sample("two"));
      await before.close();
      const after = await start(at);
      expect(receiptOf(await after.accept(sample("three"))).actions[0]).toHaveProperty("coalesced", true);
      expect(await after.claimRuns(10, CLOSES_AT)).toMatchObject([{ joined: { messages: ["two", "three"] } }]);
    });
  });
}

function sample(message: string, parts: Partial<NewEvent> = {}, key = "key", session?: string): NewEvent {
  const { receivedAt = NOW } = parts;
  return sampleEvent({ ...parts, actions: [windowed(message, key, receivedAt, session)] });
}

/** Each in its own session. */
function windowed(message: string, key: string, receivedAt = NOW, session = message): NewAction {
  const coalesce = { key, windowMs: CLOSES_AT - NOW };
  return {
    ...sampleRun(session, { message, coalesce }),
    window: { key, closesAt: receivedAt + coalesce.windowMs },
  };
}

async function statuses(journal: Journal, events: NewEvent[]): Promise<(string | undefined)[]> {
  return Promise.all(events.map(async ({ id }) => (await journal.getEvent(id))?.status));
}
