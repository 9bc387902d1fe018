import { describe, expect, test } from "vitest";
import type { EventStatus } from "../../../src/core/types.ts";
import type { Journal, NewAction } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
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
  sweepAll,
  toTurn,
} from "./samples.ts";

export function describeReads(open: OpenJournal): void {
  describe("lists", () => {
    const { folder, start } = useJournals(open);

    test("a store keeps the key that it signs with", async () => {
      const at = folder();
      const first = await start(at);
      const signature = first.sign("text");
      await first.close();
      expect((await start(at)).sign("text")).toEqual(signature);
    });

    test("events come newest first, page by page", async () => {
      const journal = await start();
      const events = Array.from({ length: 5 }, () => sampleEvent());
      for (const event of events) await journal.accept(event);
      const ids = events.map((event) => event.id).toReversed();

      const first = await journal.listEvents({ limit: 2 });
      expect(first.map((event) => event.id)).toEqual(ids.slice(0, 2));
      const second = await journal.listEvents({ limit: 10, before: ids[1] });
      expect(second.map((event) => event.id)).toEqual(ids.slice(2));
      expect(first[0]).toMatchObject({
        id: ids[0],
        hook: "github",
        mapping: "pull-requests",
        receivedAt: NOW,
        status: "accepted",
        actions: [{ kind: "agent", runId: events[4]?.actions.map(runIdOf)[0], sessionKey: "session" }],
      });
    });

    test("events are filtered by hook, by status and by both", async () => {
      const journal = await start();
      const accept = async (hook: string, status: "accepted" | "rejected"): Promise<string> => {
        const event = sampleEvent({
          hook,
          status,
          actions: status === "accepted" ? [sampleRun(nextId())] : [],
        });
        await journal.accept(event);
        return event.id;
      };
      const a = await accept("a", "accepted");
      const b = await accept("b", "rejected");
      const c = await accept("a", "rejected");
      const ids = async (filter: { hook?: string; status?: EventStatus; before?: string }) =>
        (await journal.listEvents({ limit: 10, ...filter })).map((event) => event.id);

      expect(await ids({ hook: "a" })).toEqual([c, a]);
      expect(await ids({ hook: "a", before: c })).toEqual([a]);
      expect((await journal.listEvents({ limit: 1, hook: "a" })).map((event) => event.id)).toEqual([c]);
      expect(await ids({ status: "rejected" })).toEqual([c, b]);
      expect(await ids({ hook: "a", status: "rejected" })).toEqual([c]);
      expect(await ids({ status: "rejected", before: c })).toEqual([b]);
      expect(await ids({ hook: "c" })).toEqual([]);
    });

    test("runs and deliveries come newest first, page by page, by state", async () => {
      const journal = await start();
      const actions = [sampleRun("a"), sampleRun("a"), sampleRun("b")];
      await journal.accept(sampleEvent({ actions }));
      await journal.claimRuns(10, NOW);
      const [one, two, three] = actions.map((action) => action.runId);
      const deliveries = [sampleDelivery(one!), sampleDelivery(one!), sampleDelivery(one!, { to: "C2" })];
      await journal.completeRun(claimOf(one!), sampleOutcome({ deliveries }));

      const runIds = async (page: object) => (await journal.listRuns({ limit: 10, ...page })).map((run) => run.id);
      expect(await runIds({})).toEqual([three, two, one]);
      expect(await runIds({ limit: 1, before: three })).toEqual([two]);
      expect(await runIds({ state: "ready" })).toEqual([two]);
      expect(await journal.getRun(three!)).toMatchObject({ id: three, sessionKey: "b", state: "running" });
      expect(await journal.getRun(nextId())).toBeUndefined();

      const [first, second, other] = deliveries.map((delivery) => delivery.id);
      const deliveryIds = async (page: object) =>
        (await journal.listDeliveries({ limit: 10, ...page })).map((delivery) => delivery.id);
      expect(await deliveryIds({})).toEqual([other, second, first]);
      expect(await deliveryIds({ limit: 1, before: other })).toEqual([second]);
      expect(await deliveryIds({ state: "pending" })).toEqual([other, first]);
      expect(await deliveryIds({ state: "queued" })).toEqual([second]);
    });

    test("a listed event has its only run, and that run's delivery", async () => {
      const journal = await start();
      const single = sampleEvent({ actions: [sampleRun("a")] });
      const several = sampleEvent({ actions: [sampleRun("b"), sampleRun("c")] });
      const refused = sampleEvent({
        status: "rejected",
        actions: [],
        failure: { code: "invalid_payload", message: "id is missing.", detail: "for the operator" },
      });
      for (const event of [single, several, refused]) await journal.accept(event);
      const runs = await journal.claimRuns(3, NOW);
      const run = runs.find(({ sessionKey }) => sessionKey === "a")!;
      const delivery = sampleDelivery(run.id, { eventId: single.id });
      await journal.completeRun(run, sampleOutcome({ deliveries: [delivery] }));
      const ids = [single, several, refused].map(({ id }) => id);
      const listed = await journal.listEvents({ limit: 10, ids });
      expect(listed.toReversed()).toMatchObject([
        {
          id: ids[0],
          open: 1,
          dead: 0,
          run: { id: run.id, state: "done" },
          delivery: { id: delivery.id, state: "pending" },
        },
        { id: ids[1], open: 2, dead: 0 },
        { id: ids[2], open: 0, failure: { code: "invalid_payload" } },
      ]);
      expect(await journal.listEvents({ limit: 10, ids: [ids[1]!] })).toMatchObject([{ id: ids[1] }]);
      const record = await journal.getEvent(ids[0]!);
      expect(record).toMatchObject({ open: 1, run: { id: run.id }, delivery: { id: delivery.id } });
    });

    test("an event's record contains its results", async () => {
      const journal = await start();
      const { runId, action } = sampleRun("s");
      const event = sampleEvent({ actions: [{ runId, action }] });
      await journal.accept(event);
      await journal.claimRuns(1, NOW);
      const own = { eventId: event.id, runId };
      const entries = [
        sampleEntry({ sessionKey: "s", ...own }),
        sampleEntry({ sessionKey: "main", role: "system", ...own }),
      ];
      await journal.completeRun(
        claimOf(runId),
        sampleOutcome({ entries, deliveries: [sampleDelivery(runId, { eventId: event.id })] }),
      );
      expect(await journal.getEvent(event.id)).toMatchObject({
        runs: [{ id: runId, state: "done", action }],
        entries,
        deliveries: [{ runId, state: "pending" }],
      });
      expect(await journal.getEvent(nextId())).toBeUndefined();
    });

    test("the stats follow every change", async () => {
      const journal = await start();
      const empty = { events: 0, pendingRuns: 0, pendingDeliveries: 0, pendingSystemEvents: 0 };
      expect(await journal.stats()).toEqual(empty);
      const actions = [sampleRun("a"), sampleRun("b")];
      await journal.accept(sampleEvent({ actions }));
      await journal.claimRuns(10, NOW);
      expect(await journal.stats()).toEqual({ ...empty, events: 1, pendingRuns: 2 });

      const delivery = sampleDelivery(actions[0]!.runId);
      await journal.completeRun(claimOf(actions[0]!.runId), sampleOutcome({ deliveries: [delivery] }));
      const entries = [sampleEntry({ sessionKey: "main", role: "system", pending: true })];
      await journal.deadLetterRun(claimOf(actions[1]!.runId), { finishedAt: NOW, error: "no", entries });
      expect(await journal.stats()).toEqual({
        ...empty,
        events: 1,
        pendingDeliveries: 1,
        pendingSystemEvents: 1,
      });

      await journal.claimDeliveries(1, NOW + 10);
      await journal.finishDelivery(claimOf(delivery.id), { state: "failed", at: NOW, error: "no" });
      expect(await journal.stats()).toEqual({ ...empty, events: 1, pendingSystemEvents: 1 });
    });

    test("an empty journal has nothing due", async () => {
      const journal = await start();
      expect(await journal.nextDueAt()).toBeUndefined();
      expect(await journal.listEvents({ limit: 10 })).toEqual([]);
    });
  });

  describe("sessions", () => {
    const { start } = useJournals(open);

    test("history is the newest turns, oldest first, without system events", async () => {
      const journal = await start();
      await addEntries(journal, [
        { text: "one" },
        { text: "two", role: "assistant" },
        { text: "note", role: "system" },
        { text: "three" },
        { text: "elsewhere", sessionKey: "other" },
      ]);
      const history = await journal.history("s", 2);
      expect(history.map(({ role, text }) => ({ role, text }))).toEqual([
        { role: "assistant", text: "two" },
        { role: "user", text: "three" },
      ]);
      expect(await journal.history("nobody", 2)).toEqual([]);
    });

    test("a session began after its last pause", async () => {
      const journal = await start();
      await addEntries(journal, [
        { text: "one", at: NOW },
        { text: "a slow answer", role: "assistant", at: NOW + 90 },
        { text: "two", at: NOW + 100 },
      ]);
      expect(await journal.sessionStart("s", 50)).toBe(NOW);
      await addEntries(journal, [
        { text: "three", at: NOW + 150 },
        { text: "note", role: "system", at: NOW + 190 },
        { text: "four", at: NOW + 199 },
      ]);
      expect(await journal.sessionStart("s", 50)).toBe(NOW + 150);
      expect(await journal.sessionStart("s", 51)).toBe(NOW);
      expect(await journal.sessionStart("nobody", 50)).toBeUndefined();
      expect(await journal.sessionStart("main", 50)).toBeUndefined();
    });

    test("texts are read as they were stored, also those that repeat the body or the reply", async () => {
      const journal = await start();
      const repeated = 'Zwölf Äpfel 😀, "quoted",\nand enough more text to be found again';
      const boundary = { version: 1, id: "id", source: "webhook a", hook: "a", before: "Be brief.\n\n" } as const;
      const wake = sampleEvent({ actions: [] });
      wake.request.body = Buffer.from(JSON.stringify({ repeated }));
      const system = { sessionKey: "main", role: "system", eventId: wake.id, pending: true } as const;
      const text = `A wake: ${repeated}`;
      const { action } = sampleWake(text);
      for (const _ of [1, 2])
        wake.actions.push({ action, entry: sampleEntry({ ...system, text, boundary }) } as NewAction);
      await journal.accept(wake);

      const message = `Twice: ${repeated} ${repeated}`;
      const run = sampleRun("s", { message });
      const event = sampleEvent({ actions: [run] });
      event.request.body = Buffer.from(JSON.stringify({ repeated }).repeat(event.id.length));
      await journal.accept(event);
      expect(await journal.claimRuns(1, NOW)).toMatchObject([{ action: { message } }]);
      const own = { eventId: event.id, runId: run.runId };
      const reply = `An answer to ${repeated}`;
      const entries = [
        sampleEntry({ sessionKey: "s", text: message, boundary, ...own }),
        sampleEntry({ sessionKey: "s", role: "assistant", text: reply, ...own }),
        sampleEntry({ sessionKey: "main", role: "system", text: reply, pending: true, boundary, ...own }),
      ];
      await journal.completeRun(claimOf(run.runId), sampleOutcome({ reply, entries }));

      const wakes = [
        { text, boundary },
        { text, boundary },
      ];
      expect(await journal.getEvent(event.id)).toMatchObject({ runs: [{ reply, action: { message } }], entries });
      expect(await journal.getEvent(wake.id)).toMatchObject({ entries: wakes });
      expect((await journal.getSession("s", { limit: 2 }))?.entries).toMatchObject(entries.slice(0, 2));
      expect(await journal.history("s", 2)).toMatchObject(entries.slice(0, 2).map(toTurn));
      expect(await journal.pendingSystemEvents()).toMatchObject([...wakes, { text: reply, boundary }]);
      expect((await journal.getSession("main", { limit: 3 }))?.entries).toMatchObject([...wakes, { text: reply }]);
      const end = { limit: 1, before: Number.MAX_SAFE_INTEGER };
      expect((await journal.getSession("main", end))?.entries).toMatchObject([{ text: reply }]);
      // The events are deleted, and with them what the texts repeat.
      await sweepAll(journal, { now: NOW + 100, keepFrom: NOW + 100 });
      expect(await journal.listEvents({ limit: 10 })).toEqual([]);
      expect(await journal.pendingSystemEvents()).toMatchObject([...wakes, { text: reply, boundary }]);
      expect(await journal.listSessions({ limit: 10 })).toMatchObject([{ key: "main", entries: 3 }]);
    });

    test("system events of wakes and of runs are in one order, page by page", async () => {
      const journal = await start();
      const texts = ["one", "two", "three", "four", "five"];
      for (const [index, text] of texts.entries()) {
        if (index % 2 === 0) {
          const event = sampleEvent({ actions: [] });
          event.actions.push(sampleWake(text, event.id));
          await journal.accept(event);
        } else {
          const entries = [sampleEntry({ sessionKey: "main", role: "system", text, pending: true })];
          await journal.completeHeartbeat(await sampleHeartbeat(journal), sampleOutcome({ entries }));
        }
      }
      const pending = await journal.pendingSystemEvents();
      expect(pending.map(({ text }) => text)).toEqual(texts);
      expect(await journal.pendingSystemEvents(3)).toEqual(pending.slice(0, 3));
      const consumedSeqs = [pending[0]!.seq, pending[3]!.seq];
      await journal.completeHeartbeat(await sampleHeartbeat(journal, { consumedSeqs }), sampleOutcome());
      expect((await journal.pendingSystemEvents()).map(({ text }) => text)).toEqual(["two", "three", "five"]);
      expect(await journal.stats()).toMatchObject({ pendingSystemEvents: 3 });

      const first = await journal.getSession("main", { limit: 2 });
      const rest = await journal.getSession("main", { limit: 10, after: first?.entries[1]?.seq });
      expect([...(first?.entries ?? []), ...(rest?.entries ?? [])].map(({ text }) => text)).toEqual(texts);
      expect(first?.session).toMatchObject({ entries: 5 });
    });

    test("entries come oldest first, after the cursor", async () => {
      const journal = await start();
      await addEntries(journal, [{ text: "one" }, { text: "two" }, { text: "three" }]);
      const first = await journal.getSession("s", { limit: 2 });
      expect(first?.entries.map((entry) => entry.text)).toEqual(["one", "two"]);
      const rest = await journal.getSession("s", { limit: 2, after: first?.entries[1]?.seq });
      expect(rest?.entries.map((entry) => entry.text)).toEqual(["three"]);
      expect(await journal.getSession("nobody", { limit: 2 })).toBeUndefined();
    });

    test("a session whose runs have not added entries is found, and empty", async () => {
      const journal = await start();
      const [waiting, failed] = [sampleRun("waiting"), sampleRun("failed")];
      await journal.accept(sampleEvent({ actions: [failed] }));
      await journal.claimRuns(1, NOW);
      await journal.deadLetterRun(claimOf(failed.runId), { finishedAt: NOW + 10, error: "no", entries: [] });
      await journal.accept(sampleEvent({ actions: [waiting] }));
      for (const key of ["waiting", "failed"]) {
        expect(await journal.getSession(key, { limit: 2 })).toEqual({
          session: { key, createdAt: NOW, updatedAt: NOW, entries: 0 },
          entries: [],
        });
      }
      await journal.dropDeadLetter(failed.runId);
      expect(await journal.getSession("failed", { limit: 2 })).toBeUndefined();
    });

    test("the list gives the start, the last change and the length of each session", async () => {
      const journal = await start();
      await addEntries(journal, [
        { sessionKey: "a", at: NOW },
        { sessionKey: "b", at: NOW + 1 },
        { sessionKey: "a", at: NOW + 2 },
      ]);
      expect(await journal.listSessions({ limit: 10 })).toEqual([
        { key: "a", createdAt: NOW, updatedAt: NOW + 2, entries: 2 },
        { key: "b", createdAt: NOW + 1, updatedAt: NOW + 1, entries: 1 },
      ]);
      expect(await journal.listSessions({ limit: 1 })).toHaveLength(1);
    });
  });
}

function runIdOf(accepted: object): unknown {
  return "runId" in accepted ? accepted.runId : undefined;
}

async function addEntries(journal: Journal, entries: Parameters<typeof sampleEntry>[0][]): Promise<void> {
  const outcome = sampleOutcome({
    entries: entries.map((entry) => sampleEntry({ sessionKey: "s", ...entry })),
  });
  await journal.completeHeartbeat(await sampleHeartbeat(journal), outcome);
}
