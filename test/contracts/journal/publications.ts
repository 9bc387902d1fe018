import { describe, expect, test } from "vitest";
import type {
  Journal,
  NewPublication,
  NumberedPublication,
  SubscriptionProgress,
  SubscriptionTerms,
} from "../../../src/core/journal/journal.ts";
import { MAX_SUBSCRIPTIONS } from "../../../src/core/journal/publications.ts";
import { type OpenJournal, useJournals } from "./harness.ts";
import { NOW, nextId, sampleEvent, sampleKeys, sampleRun, sampleWake, sweepAll } from "./samples.ts";

/** An event that is published under the name. */
export async function publish(
  journal: Journal,
  name = "deploys",
  parts: Partial<NewPublication> = {},
): Promise<string> {
  const id = nextId();
  const publication = { id, name, arguments: { env: "a" }, at: NOW, via: ["s"], ...parts };
  const action = { kind: "none", allowUnsafeExternalContent: false } as const;
  await journal.accept(sampleEvent({ id, actions: [{ action, publication }] }));
  return id;
}

/** Gives everything that has none its position. */
export async function numberAll({ publications, lease }: Journal): Promise<boolean> {
  const rows = await publications.listUnnumbered(1000);
  const held = await lease("publications");
  return held !== undefined && publications.number(held, { seqs: rows.map(({ seq }) => seq), types: [] });
}

async function readAll({ publications }: Journal): Promise<NumberedPublication[]> {
  return publications.read({ after: 0, upTo: Number.MAX_SAFE_INTEGER, limit: 1000 });
}

const TERMS: SubscriptionTerms = {
  id: "sub_1",
  principal: "desk",
  name: "deploys",
  arguments: { env: "a" },
  url: "https://example.com/callback?key=1",
  secret: "encrypted",
  createdAt: NOW,
  refreshedAt: NOW,
  expiresAt: NOW + 1000,
};
const PROGRESS: SubscriptionProgress = {
  acked: 3,
  cursor: "s.0.3",
  scanned: 6,
  open: [{ position: 4, failingSince: NOW }],
  abandonedCount: 0,
};

export function describePublications(open: OpenJournal): void {
  const { folder, start } = useJournals(open);

  describe("publications", () => {
    test("are in the commit of their event, and have no position until they are numbered", async () => {
      const at = folder();
      const journal = await start(at);
      const ids = [await publish(journal), await publish(journal, "builds", { data: '{"n":12345678901234567890}' })];
      expect(await journal.getEvent(ids[0]!)).toMatchObject({ status: "done", actions: [{ kind: "none" }], open: 0 });
      expect(await readAll(journal)).toEqual([]);
      expect(await journal.publications.state()).toEqual({ position: 0, swept: 0, sweptId: "", version: 0 });
      expect(await numberAll(journal)).toBe(true);
      expect(await numberAll(journal)).toBe(true);
      expect(await readAll(journal)).toEqual([
        expect.objectContaining({ id: ids[0], position: 1, arguments: { env: "a" }, data: undefined, via: ["s"] }),
        expect.objectContaining({ id: ids[1], position: 2, name: "builds", data: '{"n":12345678901234567890}' }),
      ]);
      await journal.close();
      const again = await start(at);
      await publish(again);
      await numberAll(again);
      expect((await readAll(again)).map(({ position }) => position)).toEqual([1, 2, 3]);
    });

    test("of runs, of wakes and of runs that are joined are stored, those of a repeat are not", async () => {
      const journal = await start();
      const withPublication = (id: string) => ({ publication: { id, name: "n", arguments: {}, at: NOW, via: [] } });
      const window = { key: "w", closesAt: NOW + 60_000 };
      const actions = [
        { ...sampleRun("a"), ...withPublication("run") },
        { ...sampleWake("b"), ...withPublication("wake") },
      ];
      await journal.accept(sampleEvent({ actions, idempotency: sampleKeys(["k"]) }));
      await journal.accept(sampleEvent({ actions: [{ ...sampleRun("c"), window, ...withPublication("first") }] }));
      await journal.accept(sampleEvent({ actions: [{ ...sampleRun("c"), window, ...withPublication("joined") }] }));
      const repeat = [{ ...sampleRun("a"), ...withPublication("repeat") }];
      expect(await journal.accept(sampleEvent({ actions: repeat, idempotency: sampleKeys(["k"]) }))).toMatchObject({
        kind: "replayed",
      });
      const rows = await journal.publications.listUnnumbered(10);
      expect(rows.map(({ id }) => id)).toEqual(["run", "wake", "first", "joined"]);
    });

    test("can be read by name and position, and found by time", async () => {
      const journal = await start();
      for (const [index, name] of ["a", "b", "a", "a"].entries()) await publish(journal, name, { at: NOW + index });
      await numberAll(journal);
      const { publications } = journal;
      const positions = async (range: Parameters<typeof publications.read>[0]) =>
        (await publications.read(range)).map(({ position }) => position);
      expect(await positions({ after: 1, upTo: 4, name: "a", limit: 10 })).toEqual([3, 4]);
      expect(await positions({ after: 0, upTo: 3, name: "a", limit: 10 })).toEqual([1, 3]);
      expect(await positions({ after: 0, upTo: 4, limit: 2 })).toEqual([1, 2]);
      expect(await publications.firstSince(NOW + 2)).toBe(3);
      expect(await publications.firstSince(NOW + 9)).toBeUndefined();
    });

    test("that retention deletes are behind `swept`, and their positions are not used again", async () => {
      const journal = await start();
      const ids: string[] = [];
      for (const age of [2, 1, 0]) ids.push(await publish(journal, "deploys", { at: NOW - age }));
      await numberAll(journal);
      await sweepAll(journal, { now: NOW, keepFrom: NOW });
      expect(await journal.publications.state()).toMatchObject({ position: 3, swept: 2, sweptId: ids[1] });
      const known = await Promise.all([0, 1, 2, 3, 4].map((at) => journal.publications.idAt(at)));
      expect(known).toEqual([undefined, undefined, ids[1], ids[2], undefined]);
      expect((await readAll(journal)).map(({ position }) => position)).toEqual([3]);
      await sweepAll(journal, { now: NOW, keepFrom: NOW + 1 });
      await publish(journal);
      await numberAll(journal);
      expect((await readAll(journal)).map(({ position }) => position)).toEqual([4]);
    });

    test("announce themselves to those who watch", async () => {
      const journal = await start();
      const seen: string[] = [];
      const stop = journal.watch((work) => void seen.push(...work));
      await publish(journal);
      stop();
      expect(seen).toEqual(["publication"]);
    });

    test("have types, which are stored with the numbers", async () => {
      const journal = await start();
      const lease = (await journal.lease("publications"))!;
      const types = [{ name: "deploys", payloadSchema: { type: "object" } }];
      await journal.publications.number(lease, { seqs: [], types });
      expect(await journal.publications.listTypes()).toEqual(types);
      expect(await journal.publications.listTypes("other")).toEqual([]);
    });
  });

  describe("a subscription", () => {
    test("keeps its progress when it is refreshed, and begins anew when it had ended", async () => {
      const journal = await start();
      const { publications } = journal;
      const made = await publications.subscribe(TERMS, PROGRESS);
      expect(made).toMatchObject({ kind: "created", subscription: { ...TERMS, progress: PROGRESS } });
      expect((await publications.state()).version).toBe(1);
      const later = { ...TERMS, secret: "rotated", refreshedAt: NOW + 10, expiresAt: NOW + 2000 };
      const refreshed = await publications.subscribe(later, { ...PROGRESS, acked: 9 });
      expect(refreshed).toMatchObject({ kind: "refreshed", subscription: { secret: "rotated", progress: PROGRESS } });
      expect(await publications.listSubscriptions(TERMS.id)).toMatchObject([
        { secret: "rotated", progress: { acked: 3 } },
      ]);
      const expired = await publications.subscribe({ ...TERMS, refreshedAt: NOW + 3000 }, { ...PROGRESS, acked: 9 });
      expect(expired).toMatchObject({ kind: "created", subscription: { progress: { acked: 9 } } });
      expect(await publications.hasCallback("desk", TERMS.url)).toBe(true);
      expect(await publications.hasCallback("other", TERMS.url)).toBe(false);
      expect(await publications.unsubscribe(TERMS.id)).toBe(true);
      expect(await publications.unsubscribe(TERMS.id)).toBe(false);
      expect(await publications.listSubscriptions()).toEqual([]);
    });

    test("that was begun anew is not changed by the progress of the one before, nor an ended one", async () => {
      const journal = await start();
      const { publications } = journal;
      const lease = (await journal.lease("publications"))!;
      const save = async (generation: string, acked: number) =>
        publications.saveProgress(lease, {
          saved: [{ id: TERMS.id, generation, progress: { ...PROGRESS, acked }, abandoned: [] }],
          deleted: [],
        });
      const first = await publications.subscribe(TERMS, PROGRESS);
      await publications.unsubscribe(TERMS.id);
      const second = await publications.subscribe(TERMS, PROGRESS);
      if (first.kind === "full" || second.kind === "full") throw new Error("There is room.");
      expect(await save(first.subscription.generation, 50)).toBe(true);
      expect(await publications.listSubscriptions()).toMatchObject([{ progress: { acked: 3 } }]);
      await save(second.subscription.generation, 60);
      expect(await publications.listSubscriptions()).toMatchObject([{ progress: { acked: 60 } }]);
      const ended = { code: -32012, message: "Ended.", at: NOW };
      expect(await publications.end(TERMS.id, ended)).toBe(true);
      await save(second.subscription.generation, 70);
      expect(await publications.listSubscriptions()).toMatchObject([{ progress: { acked: 60, ended } }]);
      const { generation } = second.subscription;
      await publications.saveProgress(lease, { saved: [], deleted: [{ id: TERMS.id, generation }] });
      expect(await publications.listSubscriptions()).toEqual([]);
      expect(await publications.end(TERMS.id, ended)).toBe(false);
    });

    test("lists all events that were given up, newest first, as long as it lives", async () => {
      const journal = await start();
      const { publications } = journal;
      const lease = (await journal.lease("publications"))!;
      const made = await publications.subscribe(TERMS, PROGRESS);
      if (made.kind === "full") throw new Error("There is room.");
      const { generation } = made.subscription;
      const give = (position: number) => ({ id: `e${position}`, position, reason: "http_5xx", at: NOW });
      for (let first = 1; first <= 150; first += 50) {
        const abandoned = Array.from({ length: 50 }, (_, index) => give(first + index));
        await publications.saveProgress(lease, {
          saved: [{ id: TERMS.id, generation, progress: PROGRESS, abandoned }],
          deleted: [],
        });
      }
      const list = async (range: { before?: number; limit: number }) =>
        (await publications.listAbandoned(TERMS.id, range)).map(({ position }) => position);
      expect(await list({ limit: 2 })).toEqual([150, 149]);
      expect(await list({ limit: 2, before: 149 })).toEqual([148, 147]);
      expect(await list({ limit: 1000 })).toHaveLength(150);
      expect(await publications.listAbandoned("sub_", { limit: 10 })).toEqual([]);
      await publications.saveProgress(lease, { saved: [], deleted: [{ id: TERMS.id, generation }] });
      expect(await list({ limit: 1000 })).toEqual([]);
    });

    test("is refused when its principal has too many", async () => {
      const { publications } = await start();
      const subscribe = (index: number, principal = "desk") =>
        publications.subscribe({ ...TERMS, principal, id: `sub_${principal}_${index}` }, PROGRESS);
      for (let index = 0; index < MAX_SUBSCRIPTIONS.principal; index += 1) await subscribe(index);
      expect(await subscribe(1000)).toEqual({ kind: "full", max: MAX_SUBSCRIPTIONS.principal });
      expect(await subscribe(0)).toMatchObject({ kind: "refreshed" });
      expect(await subscribe(0, "other")).toMatchObject({ kind: "created" });
    });
  });
}
