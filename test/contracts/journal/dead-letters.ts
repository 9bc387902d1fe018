import { describe, expect, test } from "vitest";
import type { Journal } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, nextId, sampleDelivery, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

const ROUTE = { channel: "slack", to: "C1" } as const;

export function describeDeadLetters(open: OpenJournal): void {
  describe("dead letters", () => {
    const { start } = useJournals(open);

    test("are the runs and deliveries that failed permanently, newest first, page by page", async () => {
      const journal = await start();
      const first = await addDeadRun(journal);
      const second = await addFailedDelivery(journal);
      await journal.failHeartbeat({ id: nextId(), startedAt: NOW, finishedAt: NOW, error: "no" });

      const letters = await journal.listDeadLetters({ limit: 10 });
      expect(letters).toEqual([
        { ...second, kind: "delivery", hook: "github", error: "gone", group: "gone", attempts: 1, at: NOW + 20 },
        { ...first, kind: "run", hook: "github", error: "no", group: "no", attempts: 1, at: NOW + 10 },
      ]);
      expect(await journal.listDeadLetters({ limit: 1 })).toEqual([letters[0]]);
      expect(await journal.listDeadLetters({ limit: 10, before: second.id })).toEqual([letters[1]]);
    });

    test("a retried run has all its attempts again, and its event is accepted again", async () => {
      const journal = await start();
      const { id, eventId } = await addDeadRun(journal);
      expect(await journal.retryDeadLetter(id, NOW + 100)).toBe(true);
      expect(await journal.listDeadLetters({ limit: 10 })).toEqual([]);
      expect(await journal.getEvent(eventId)).toMatchObject({ status: "accepted" });
      expect(await journal.stats()).toMatchObject({ pendingRuns: 1 });

      const [run] = await journal.claimRuns(10, NOW + 100);
      expect(run).toMatchObject({ id, attempts: 1 });
      expect(run?.error).toBeUndefined();
      await journal.completeRun(claimOf(id), sampleOutcome());
      expect(await journal.getEvent(eventId)).toMatchObject({ status: "done", runs: [{ state: "done" }] });
      expect(await journal.stats()).toMatchObject({ pendingRuns: 0 });
    });

    test("a retried run waits for the running one of its session, and runs before later ones", async () => {
      const journal = await start();
      const { id } = await addDeadRun(journal, "s");
      const [running, waiting] = [sampleRun("s"), sampleRun("s")];
      await journal.accept(sampleEvent({ actions: [running, waiting] }));
      await journal.claimRuns(10, NOW);
      await journal.retryDeadLetter(id, NOW);

      expect(await journal.claimRuns(10, NOW)).toEqual([]);
      await journal.completeRun(claimOf(running.runId), sampleOutcome());
      expect(await journal.claimRuns(10, NOW)).toMatchObject([{ id }]);
      await journal.completeRun(claimOf(id), sampleOutcome());
      expect(await journal.claimRuns(10, NOW)).toMatchObject([{ id: waiting.runId }]);
    });

    test("a retried delivery continues after the sent parts, behind others to its recipient", async () => {
      const journal = await start();
      const { id, eventId } = await addFailedDelivery(journal);
      const other = await addDelivery(journal);
      await journal.claimDeliveries(10, NOW + 30);
      expect(await journal.retryDeadLetter(id, NOW + 30)).toBe(true);
      expect(await journal.getEvent(eventId)).toMatchObject({ status: "accepted" });

      expect(await journal.claimDeliveries(10, NOW + 30)).toEqual([]);
      const sent = { state: "sent", at: NOW + 40, route: ROUTE, partsSent: 2 } as const;
      await journal.finishDelivery(claimOf(other.id), sent);
      expect(await journal.claimDeliveries(10, NOW + 30)).toMatchObject([{ id, attempts: 1, partsSent: 1 }]);
      await journal.finishDelivery(claimOf(id), sent);
      expect(await journal.getEvent(eventId)).toMatchObject({ status: "done" });
    });

    test("a dropped dead letter is marked, and its event is no longer dead", async () => {
      const journal = await start();
      const run = await addDeadRun(journal);
      const delivery = await addFailedDelivery(journal);
      expect(await journal.dropDeadLetter(run.id)).toBe(true);
      expect(await journal.dropDeadLetter(delivery.id)).toBe(true);
      expect(await journal.listDeadLetters({ limit: 10 })).toEqual([]);
      expect(await journal.getEvent(run.eventId)).toMatchObject({
        status: "canceled",
        canceled: 1,
        runs: [{ state: "canceled", error: "no" }],
      });
      expect(await journal.getEvent(delivery.eventId)).toMatchObject({
        status: "canceled",
        deliveries: [{ state: "canceled", error: "gone" }],
      });
    });

    test("an event stays dead until the last of its dead letters is dropped", async () => {
      const journal = await start();
      const actions = [sampleRun("a"), sampleRun("b")];
      const event = sampleEvent({ actions });
      await journal.accept(event);
      await journal.claimRuns(10, NOW);
      for (const { runId } of actions) await deadLetter(journal, runId);

      await journal.dropDeadLetter(actions[0]!.runId);
      expect(await journal.getEvent(event.id)).toMatchObject({ status: "failed" });
      await journal.dropDeadLetter(actions[1]!.runId);
      expect(await journal.getEvent(event.id)).toMatchObject({ status: "canceled", dead: 0, canceled: 2 });
    });

    test("unknown, unfinished, done and dropped work is not a dead letter", async () => {
      const journal = await start();
      const { id } = await addDeadRun(journal);
      await journal.dropDeadLetter(id);
      const waiting = sampleRun("w");
      await journal.accept(sampleEvent({ actions: [waiting] }));
      for (const none of [nextId(), id, waiting.runId]) {
        expect(await journal.retryDeadLetter(none, NOW)).toBe(false);
        expect(await journal.dropDeadLetter(none)).toBe(false);
      }
      expect(await journal.stats()).toMatchObject({ pendingRuns: 1 });
    });
  });
}

async function addDeadRun(journal: Journal, session = nextId()): Promise<{ id: string; eventId: string }> {
  const { runId, action } = sampleRun(session);
  const event = sampleEvent({ actions: [{ runId, action }] });
  await journal.accept(event);
  await journal.claimRuns(1, NOW);
  await deadLetter(journal, runId);
  return { id: runId, eventId: event.id };
}

function deadLetter(journal: Journal, runId: string): Promise<boolean> {
  return journal.deadLetterRun(claimOf(runId), { finishedAt: NOW + 10, error: "no", entries: [] });
}

async function addFailedDelivery(journal: Journal): Promise<{ id: string; eventId: string }> {
  const added = await addDelivery(journal);
  await journal.claimDeliveries(10, NOW + 10);
  await journal.progressDelivery(claimOf(added.id), { partsSent: 1, route: ROUTE });
  await journal.finishDelivery(claimOf(added.id), { state: "failed", at: NOW + 20, error: "gone" });
  return added;
}

async function addDelivery(journal: Journal): Promise<{ id: string; eventId: string }> {
  const action = sampleRun(nextId());
  const event = sampleEvent({ actions: [action] });
  const delivery = sampleDelivery(action.runId, { eventId: event.id });
  await journal.accept(event);
  await journal.claimRuns(1, NOW);
  await journal.completeRun(claimOf(action.runId), sampleOutcome({ deliveries: [delivery] }));
  return { id: delivery.id, eventId: event.id };
}
