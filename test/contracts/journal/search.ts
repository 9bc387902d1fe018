import { describe, expect, test } from "vitest";
import type { EventSearch, Journal, NewEvent } from "../../../src/core/journal/journal.ts";
import { firstIdAt } from "../../../src/core/shared/id.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, nextId, sampleDelivery, sampleEntry, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

/** Each finds the event of `addWanted` alone. */
const SEARCHES: [string, EventSearch][] = [
  ["the body, in any case", { text: "dISKFULL" }],
  ["the body, beyond ASCII", { text: "STRASSE É" }],
  ["the body, as JSON escapes it", { text: 'say "no"' }],
  ["the subject", { text: "acme/shop#7" }],
  ["an id", { text: "0000000000aa" }],
  ["a prompt", { text: "please look" }],
  ["a reply", { text: "All Is Well" }],
  ["the place of a delivery", { text: "c0ops" }],
  ["the error of a delivery", { text: "CHANNEL_NOT_FOUND" }],
  ["a mapping", { mapping: "wanted" }],
  ["a name", { event: "check.failed" }],
  ["a credential", { credential: "auth:wanted" }],
  ["a session", { session: "the session" }],
  ["a model", { model: "local/big" }],
  ["a channel", { channel: "telegram" }],
  ["an error group", { group: "channel_not_found in …" }],
  ["a field of the payload", { fields: [{ path: ["payload", "labels", "0", "name"], value: "bug" }] }],
  ["a number in the payload", { fields: [{ path: ["payload", "number"], value: "42" }] }],
  ["a long number in the payload", { fields: [{ path: ["payload", "id"], value: "12345678901234567890" }] }],
  ["a header", { fields: [{ path: ["headers", "x-delivery"], value: "d-1" }] }],
  ["several of them", { text: "diskfull", mapping: "wanted", channel: "telegram", hook: "ci" }],
];

/** The same values as different writers of JSON escape them. */
const ESCAPED = [
  '{"link":"a\\u0026b","n":1}',
  '{"link":"a&b","path":"x\\/y"}',
  '{"link":"a&b","path":"x/y"}',
  '{"link":"a&b","text":"é\\n\\\\"}',
];

export function describeSearch(open: OpenJournal): void {
  describe("a search", () => {
    const { start } = useJournals(open);

    test("finds an event by everything that it has", async () => {
      const journal = await start();
      const wanted = await addWanted(journal);
      const others = [sampleEvent({ request: requestOf('{"name":"other","labels":[],"number":420}') }), sampleEvent()];
      for (const other of others) await journal.accept(other);
      for (const [what, search] of SEARCHES) {
        expect([what, await findAll(journal, search)]).toEqual([what, [wanted.id]]);
        expect([what, await findAll(journal, { ...search, text: "nothing has this" })]).toEqual([what, []]);
      }
    });

    test("finds a field in a payload with any escapes", async () => {
      const journal = await start();
      for (const [index, body] of ESCAPED.entries()) {
        const mapping = `escaped-${index}`;
        const wanted = sampleEvent({ mapping, request: requestOf(body) });
        for (const event of [wanted, sampleEvent({ mapping, request: requestOf('{"link":"a"}') })])
          await journal.accept(event);
        for (const [name, value] of Object.entries<string | number>(JSON.parse(body))) {
          const fields = [{ path: ["payload", name], value: String(value) }];
          expect([body, name, await findAll(journal, { mapping, fields })]).toEqual([body, name, [wanted.id]]);
          const both = [...fields, { path: ["payload", "link"], value: "b" }];
          expect(await findAll(journal, { mapping, fields: both })).toEqual([]);
        }
      }
    });

    test("of an error finds runs that wait for another attempt, or died", async () => {
      const journal = await start();
      const [waiting, dead] = [sampleRun("a"), sampleRun("b")];
      const events = [sampleEvent({ actions: [waiting] }), sampleEvent({ actions: [dead] })];
      for (const event of events) await journal.accept(event);
      await journal.claimRuns(2, NOW);
      await journal.retryRun(claimOf(waiting.runId), NOW + 1000, "overloaded: 529");
      await journal.deadLetterRun(claimOf(dead.runId), { finishedAt: NOW, error: "no model 17", entries: [] });
      expect(await findAll(journal, { text: "Overloaded" })).toEqual([events[0]!.id]);
      expect(await findAll(journal, { text: "NO MODEL" })).toEqual([events[1]!.id]);
      expect(await findAll(journal, { group: "no model …" })).toEqual([events[1]!.id]);
    });

    test("continues where it ended, and reads all without leaving out any", async () => {
      const journal = await start();
      const events = Array.from({ length: 503 }, (_, index) =>
        sampleEvent({ actions: [], status: "skipped", request: requestOf(`{"n":"n${index % 2}"}`) }),
      );
      await Promise.all(events.map((event) => journal.accept(event)));
      const wanted = events.filter((_, index) => index % 2 === 1).map(({ id }) => id);
      expect((await findAll(journal, { text: "N1" })).toSorted()).toEqual(wanted.toSorted());
      const first = await journal.searchEvents({ text: "N1" });
      expect(first).toMatchObject({ searched: 500, at: NOW });
      expect((await journal.searchEvents({ text: "N1" }, first.end)).ids.some((id) => first.ids.includes(id))).toBe(
        false,
      );
    });

    test("and a list find what was committed after a later request", async () => {
      const journal = await start();
      await acceptAt(journal, [1000, 2000, 0]);
      const ids = async (times: Pick<EventSearch, "from" | "to">): Promise<string[]> =>
        (await journal.listEvents({ limit: 9, ...times })).map(({ id }) => id).toSorted();
      expect(await ids({ from: NOW })).toEqual([at(0), at(1000), at(2000)]);
      expect(await ids({ from: NOW + 1000 })).toEqual([at(1000), at(2000)]);
      expect(await ids({ to: NOW + 1000 })).toEqual([at(0)]);
    });

    test("and a list keep within a time", async () => {
      const journal = await start();
      await acceptAt(journal, [0, 1000, 2000]);
      const ids = async (times: Pick<EventSearch, "from" | "to">): Promise<string[]> =>
        (await journal.listEvents({ limit: 9, ...times })).map(({ id }) => id);
      expect(await ids({ from: NOW + 1000 })).toEqual([at(2000), at(1000)]);
      expect(await ids({ to: NOW + 2000 })).toEqual([at(1000), at(0)]);
      expect(await ids({ from: NOW + 500, to: NOW + 1500 })).toEqual([at(1000)]);
      expect(await ids({ from: NOW + 5000 })).toEqual([]);
      expect(await ids({ to: NOW })).toEqual([]);
      expect(await findAll(journal, { text: "github", from: NOW + 500, to: NOW + 1500 })).toEqual([at(1000)]);
      expect(await journal.countByMapping(NOW + 1000)).toEqual([
        { mapping: "pull-requests", status: "skipped", count: 2, lastAt: NOW + 2000 },
      ]);
    });
  });

  describe("counts and lists of work", () => {
    const { start } = useJournals(open);

    test("the unfinished runs of each sender are counted, and all tokens are one", async () => {
      const journal = await start();
      for (const credential of ["auth:a", "token:default", "auth:b", "token:ci", "auth:a", undefined]) {
        await journal.accept(sampleEvent({ credential, actions: [sampleRun(nextId())] }));
      }
      const [first] = await journal.claimRuns(1, NOW);
      const all = { "auth:a": 2, "auth:b": 1, token: 3 };
      expect(Object.fromEntries(await journal.countSenders())).toEqual(all);
      await journal.completeRun(first!, sampleOutcome());
      expect(Object.fromEntries(await journal.countSenders())).toEqual({ ...all, "auth:a": 1 });
    });

    test("have each state, and several states together", async () => {
      const journal = await start();
      const runs = ["a", "a", "b", "c", "d"].map((session) => sampleRun(session));
      for (const run of runs) await journal.accept(sampleEvent({ actions: [run] }));
      const [first, , held, dead] = runs.map(({ runId }) => runId);
      await journal.claimRuns(3, NOW);
      await journal.holdRun(claimOf(held!), "budget");
      await journal.deadLetterRun(claimOf(dead!), { finishedAt: NOW, error: "no", entries: [] });
      await journal.failHeartbeat({ id: nextId(), startedAt: NOW, finishedAt: NOW, error: "no" });
      const counted = { ready: 1, queued: 1, running: 1, held: 1, dead: 1 };
      expect(await journal.countWork(10)).toEqual({
        runs: counted,
        deliveries: { pending: 0, queued: 0, sending: 0, failed: 0 },
      });
      const waiting = await journal.listRuns({ limit: 9, state: ["ready", "queued"] });
      expect(waiting.map(({ state }) => state).toSorted()).toEqual(["queued", "ready"]);
      expect(waiting.find(({ state }) => state === "queued")?.waitsFor).toMatchObject({ kind: "turn", runId: first });
      expect(await journal.listRuns({ limit: 9, sessionKey: "a" })).toHaveLength(2);
    });

    test("an unfinished event is held, waits or runs, by its runs and deliveries", async () => {
      const journal = await start();
      const [running, queued, held] = [sampleRun("a"), sampleRun("a"), sampleRun("b")];
      const events = [[running], [queued], [sampleRun("c"), held]].map((actions) => sampleEvent({ actions }));
      const words = async (): Promise<unknown[]> => {
        const listed = (await journal.listEvents({ limit: 9 })).toReversed();
        for (const { id, unfinished } of listed) {
          expect((await journal.getEvent(id))?.unfinished).toBe(unfinished);
          if (unfinished) expect(await findAll(journal, { status: "accepted", unfinished })).toContain(id);
        }
        return listed.map(({ unfinished }) => unfinished);
      };
      for (const event of events) await journal.accept(event);
      await journal.claimRuns(3, NOW);
      await journal.holdRun(claimOf(held.runId), "budget");
      expect(await words()).toEqual(["running", "waiting", "held"]);
      expect(await findAll(journal, { status: "accepted", unfinished: "held" })).toEqual([events[2]!.id]);
      const delivery = sampleDelivery(running.runId, { eventId: events[0]!.id });
      await journal.completeRun(claimOf(running.runId), sampleOutcome({ deliveries: [delivery] }));
      expect(await words()).toEqual(["waiting", "waiting", "held"]);
      await journal.claimDeliveries(1, NOW);
      expect(await words()).toEqual(["running", "waiting", "held"]);
      await journal.finishDelivery(claimOf(delivery.id), { state: "failed", at: NOW, error: "no" });
      expect(await words()).toEqual([undefined, "waiting", "held"]);
      expect((await journal.listEvents({ limit: 9, status: "failed" })).map(({ id }) => id)).toEqual([events[0]!.id]);
    });

    test("dead letters of a kind, a hook, a group and a time", async () => {
      const journal = await start();
      const runs = ["a", "b"].map((session) => sampleRun(session));
      await journal.accept(sampleEvent({ hook: "one", actions: [runs[0]!] }));
      await journal.accept(sampleEvent({ hook: "two", actions: [runs[1]!] }));
      await journal.claimRuns(2, NOW);
      for (const [index, { runId }] of runs.entries()) {
        await journal.deadLetterRun(claimOf(runId), {
          finishedAt: NOW + index,
          error: `no model ${index}`,
          entries: [],
        });
      }
      const ids = async (filter: object): Promise<string[]> =>
        (await journal.listDeadLetters({ limit: 9, ...filter })).map(({ id }) => id);
      const [first, second] = runs.map(({ runId }) => runId);
      expect(await ids({ kind: "run", group: "no model …" })).toEqual([second, first]);
      expect(await ids({ kind: "delivery" })).toEqual([]);
      expect(await ids({ hook: "one" })).toEqual([first]);
      expect(await ids({ failedTo: NOW + 1 })).toEqual([first]);
      expect(await ids({ failedFrom: NOW + 1 })).toEqual([second]);
      expect(await ids({ group: "other" })).toEqual([]);
    });
  });
}

function requestOf(body: string): NewEvent["request"] {
  return { ...sampleEvent().request, body: Buffer.from(body) };
}

/** An event that differs from others in everything that can be searched for. */
async function addWanted(journal: Journal): Promise<NewEvent> {
  const { runId, action } = sampleRun("the session");
  const fields = { name: "DiskFull", text: 'Say "no". straße é', labels: [{ name: "bug" }], number: 42 };
  const body = JSON.stringify(fields).replace("{", '{"id":12345678901234567890,');
  const { request } = sampleEvent();
  const event = sampleEvent({
    id: "01997b1c-0000-7000-8000-0000000000aa",
    hook: "ci",
    mapping: "wanted",
    event: "check.failed",
    subject: "acme/shop#7: Fix the total",
    credential: "auth:wanted",
    request: { ...request, headers: { "x-delivery": "d-1" }, body: Buffer.from(body.replace("ß", "ss")) },
    actions: [{ runId, action }],
  });
  await journal.accept(event);
  await journal.claimRuns(1, NOW);
  const own = { sessionKey: "the session", eventId: event.id, runId };
  const entries = [
    sampleEntry({ ...own, text: "Please look." }),
    sampleEntry({ ...own, role: "assistant", text: "All is well." }),
  ];
  const delivery = sampleDelivery(runId, { eventId: event.id, channel: "telegram", to: "C0OPS" });
  await journal.completeRun(claimOf(runId), sampleOutcome({ entries, deliveries: [delivery], model: "local/big" }));
  await journal.claimDeliveries(1, NOW + 10);
  await journal.finishDelivery(claimOf(delivery.id), {
    state: "failed",
    at: NOW + 20,
    error: "channel_not_found in 7",
  });
  return event;
}

async function findAll(journal: Journal, search: EventSearch): Promise<string[]> {
  const ids: string[] = [];
  let end: string | undefined;
  do {
    const chunk = await journal.searchEvents(search, end);
    ids.push(...chunk.ids);
    ({ end } = chunk);
  } while (end !== undefined);
  return ids;
}

const at = (ms: number): string => firstIdAt(NOW + ms).replace("0000-0000", "7000-8000");

/** Accepts an event that began at each of these times, in this order. */
async function acceptAt(journal: Journal, times: number[]): Promise<void> {
  for (const ms of times) {
    await journal.accept(sampleEvent({ id: at(ms), receivedAt: NOW + ms, actions: [], status: "skipped" }));
  }
}
