import { describe, expect, test } from "vitest";
import type { Journal, NewDelivery } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, nextId, sampleDelivery, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

const ROUTE = { channel: "slack", to: "C1" } as const;
const SENT = { state: "sent", at: NOW + 20, route: ROUTE, partsSent: 2 } as const;

export function describeDeliveries(open: OpenJournal): void {
  describe("deliveries", () => {
    const { start, folder } = useJournals(open);

    test("a claim counts an attempt", async () => {
      const journal = await start();
      const [delivery] = await addDeliveries(journal, [{ text: "Hello." }]);
      const [claimed] = await journal.claimDeliveries(10, NOW + 10);
      expect(claimed).toEqual({
        ...delivery,
        state: "sending",
        attempts: 1,
        createdAt: NOW + 10,
        dueAt: NOW + 10,
        startedAt: NOW + 10,
        partsSent: 0,
        warnings: [],
        token: expect.any(Number),
      });
      expect([claimed]).toMatchObject(await journal.listDeliveries({ limit: 1 }));
    });

    test("deliveries to one recipient are claimed in order, others concurrently, up to the limit", async () => {
      const journal = await start();
      const [one, two, elsewhere, nobody] = await addDeliveries(journal, [
        { to: "C1" },
        { to: "C1" },
        { to: "C2" },
        { channel: "last", to: undefined },
      ]);
      expect(await claimedIds(journal, 2)).toEqual([one?.id, elsewhere?.id]);
      expect(await claimedIds(journal, 2)).toEqual([nobody?.id]);
      await journal.finishDelivery(claimOf(one!.id), SENT);
      expect(await claimedIds(journal, 2)).toEqual([two?.id]);
    });

    test("without a recipient the deliveries of a channel are claimed in order too", async () => {
      const journal = await start();
      const [first] = await addDeliveries(journal, [{ to: undefined }, { to: undefined }]);
      expect(await claimedIds(journal, 10)).toEqual([first?.id]);
    });

    test("a sent delivery has its warnings", async () => {
      const journal = await start();
      const [first] = await addDeliveries(journal, [{}, {}]);
      await journal.claimDeliveries(10, NOW + 10);
      await journal.finishDelivery(claimOf(first!.id), { ...SENT, warnings: ["It was cut.", 'Twice "cut".'] });
      const found = await journal.listDeliveries({ limit: 10 });
      expect(Object.fromEntries(found.map(({ id, warnings }) => [id, warnings]))).toEqual({
        [first!.id]: ["It was cut.", 'Twice "cut".'],
        [found.find(({ id }) => id !== first!.id)!.id]: [],
      });
    });

    test("a retried delivery stays first and continues after the sent parts", async () => {
      const journal = await start();
      const [first] = await addDeliveries(journal, [{}, {}]);
      await journal.claimDeliveries(10, NOW + 10);
      await journal.progressDelivery(claimOf(first!.id), { partsSent: 1, route: ROUTE });
      await journal.retryDelivery(claimOf(first!.id), NOW + 500, "slow down");

      expect(await claimedIds(journal, 10)).toEqual([]);
      expect(await journal.nextDueAt()).toBe(NOW + 500);
      expect(await journal.claimDeliveries(10, NOW + 500)).toMatchObject([
        { id: first!.id, attempts: 2, partsSent: 1, route: ROUTE, error: "slow down" },
      ]);
    });

    test("a delivery that is given back waits, and its attempt does not count", async () => {
      const journal = await start();
      const [first] = await addDeliveries(journal, [{}]);
      await journal.claimDeliveries(10, NOW + 10);
      await journal.giveBackDelivery(claimOf(first!.id), NOW + 500, "not here");
      expect(await journal.claimDeliveries(10, NOW + 499)).toEqual([]);
      expect(await journal.claimDeliveries(10, NOW + 500)).toMatchObject([{ id: first!.id, attempts: 1 }]);
    });

    test("a sent delivery keeps its route and clears the error of an earlier attempt", async () => {
      const journal = await start();
      const [delivery] = await addDeliveries(journal, [{ channel: "last", to: undefined }]);
      await journal.claimDeliveries(10, NOW + 10);
      await journal.retryDelivery(claimOf(delivery!.id), NOW + 10, "slow down");
      await journal.claimDeliveries(10, NOW + 10);
      await journal.finishDelivery(claimOf(delivery!.id), SENT);
      const [sent] = await journal.listDeliveries({ limit: 1 });
      expect(sent).toMatchObject({ state: "sent", sentAt: NOW + 20, route: ROUTE, partsSent: 2 });
      expect(sent?.error).toBeUndefined();
    });

    test("a failed delivery keeps its error, and the next one can be claimed", async () => {
      const journal = await start();
      const [first, second] = await addDeliveries(journal, [{}, {}]);
      await journal.claimDeliveries(10, NOW + 10);
      await journal.progressDelivery(claimOf(first!.id), { partsSent: 1 });
      await journal.finishDelivery(claimOf(first!.id), { state: "failed", at: NOW + 20, error: "gone" });
      const [failed] = await journal.listDeliveries({ limit: 10, state: "failed" });
      expect(failed).toMatchObject({ id: first!.id, error: "gone", partsSent: 1 });
      expect(failed?.sentAt).toBeUndefined();
      expect(await claimedIds(journal, 10)).toEqual([second?.id]);
    });

    test("a skipped delivery keeps the reason and sets no route, and the next one can be claimed", async () => {
      const journal = await start();
      const [first, second] = await addDeliveries(journal, [{}, {}]);
      await journal.claimDeliveries(10, NOW + 10);
      await journal.finishDelivery(claimOf(first!.id), { state: "skipped", at: NOW + 20, error: "nowhere" });
      expect(await journal.listDeliveries({ limit: 10, state: "skipped" })).toMatchObject([
        { id: first!.id, error: "nowhere" },
      ]);
      expect(await journal.lastRoute()).toBeUndefined();
      expect(await claimedIds(journal, 10)).toEqual([second?.id]);
    });

    test("ending an unknown, waiting or finished delivery changes nothing", async () => {
      const journal = await start();
      const [delivery] = await addDeliveries(journal, [{}]);
      await journal.finishDelivery(claimOf(delivery!.id), SENT);
      await journal.finishDelivery(claimOf(nextId()), SENT);
      expect(await journal.lastRoute()).toBeUndefined();

      await journal.claimDeliveries(10, NOW + 10);
      await journal.finishDelivery(claimOf(delivery!.id), { state: "failed", at: NOW, error: "gone" });
      await journal.finishDelivery(claimOf(delivery!.id), SENT);
      await journal.retryDelivery(claimOf(delivery!.id), NOW, "late");
      await journal.progressDelivery(claimOf(delivery!.id), { partsSent: 7 });
      expect(await journal.listDeliveries({ limit: 1 })).toMatchObject([{ state: "failed", partsSent: 0 }]);
      expect(await journal.lastRoute()).toBeUndefined();
    });

    test("a message is known as sent by its id, for as long as it is asked for", async () => {
      const journal = await start();
      await addDeliveries(journal, [{}]);
      expect(await journal.wasSent("C1:2", 0)).toBe(false);
      const [claimed] = await journal.claimDeliveries(10, NOW + 10);
      expect(await journal.wasSent("C1:1", 0)).toBeUndefined();
      await journal.progressDelivery(claimed!, { partsSent: 1, route: ROUTE, messageId: "C1:1" });
      expect(await journal.wasSent("C1:1", 0)).toBe(true);
      expect(await journal.wasSent("C1:2", 0)).toBeUndefined();
      await journal.finishDelivery(claimed!, { ...SENT, messageId: "C1:2" });
      expect(await journal.wasSent("C1:2", NOW + 20)).toBe(true);
      expect(await journal.wasSent("C1:2", NOW + 21)).toBe(false);
      expect(await journal.wasSent("C1:2", 0, ROUTE.channel)).toBe(true);
      expect(await journal.wasSent("C1:2", 0, `${ROUTE.channel}:eu`)).toBe(false);
      await journal.sweep({ now: NOW + 30, keepFrom: 0, keepMessagesFrom: NOW + 21 });
      expect(await journal.wasSent("C1:2", 0)).toBe(false);
    });

    test("replies to a source leave the last route, and know the messages that they replace", async () => {
      const journal = await start();
      const reply = { channel: "slack", to: "C1", conversation: "s", update: true, routeBy: undefined };
      const finish = async (parts: object, messageId: string) => {
        const [delivery] = await addDeliveries(journal, [parts]);
        const [claimed] = await journal.claimDeliveries(10, NOW + 10);
        await journal.progressDelivery(claimed!, { partsSent: 1, route: ROUTE, messageId });
        await journal.finishDelivery(claimOf(delivery!.id), { ...SENT, messageId: "its last part" });
        return claimed?.replaces;
      };
      expect(await finish(reply, "m1")).toBeUndefined();
      expect(await journal.lastRoute()).toBeUndefined();
      expect(await finish(reply, "m2")).toEqual(["m1", "its last part"]);
      expect(await finish({ ...reply, update: undefined }, "m3")).toBeUndefined();
      expect(await finish({ ...reply, to: "C2" }, "m4")).toBeUndefined();
      expect(await finish({ ...reply, conversation: "t" }, "m5")).toBeUndefined();
      expect(await finish(reply, "m6")).toEqual(["m3", "its last part"]);
    });

    test("the runs that answered someone are known, whichever sessions and threads they are of", async () => {
      const journal = await start();
      const answer = { channel: "slack", addressee: "c1" };
      const [first] = await addDeliveries(journal, [{ ...answer, to: "C1:1", conversation: "s" }]);
      const [second] = await addDeliveries(journal, [{ ...answer, to: "C1:2", conversation: "t" }]);
      await addDeliveries(journal, [
        { ...answer, addressee: "c2" },
        { ...answer, channel: "slack:eu" },
        { channel: "slack", to: "c1" },
      ]);
      const runIds = [first!.runId, second!.runId].toSorted();
      const [last] = await journal.listDeliveries({ limit: 1 });
      expect((await journal.listAnswers("slack", "c1", last!.createdAt)).toSorted()).toEqual(runIds);
      expect(await journal.listAnswers("slack", "c1", last!.createdAt + 1)).toEqual([]);
    });

    test("the route used last is known overall and per channel", async () => {
      const journal = await start();
      const routes = [
        { channel: "slack", to: "C1" },
        { channel: "telegram", to: "42" },
        { channel: "slack", to: "C2" },
      ] as const;
      expect(await journal.lastRoute()).toBeUndefined();
      for (const route of routes) {
        const [delivery] = await addDeliveries(journal, [{ ...route }]);
        await journal.claimDeliveries(10, NOW + 10);
        await journal.finishDelivery(claimOf(delivery!.id), { ...SENT, route });
        expect(await journal.lastRoute()).toEqual(route);
      }
      expect(await journal.lastRoute("telegram")).toEqual(routes[1]);
      expect(await journal.lastRoute("slack")).toEqual(routes[2]);
      expect(await journal.lastRoute("discord")).toBeUndefined();
    });

    test("a route is the one used last only if it says who chose it, and the operator's is known apart", async () => {
      const journal = await start();
      const send = async (to: string, routeBy: NewDelivery["routeBy"]): Promise<void> => {
        const [delivery] = await addDeliveries(journal, [{ to, routeBy }]);
        await journal.claimDeliveries(10, NOW + 10);
        await journal.finishDelivery(claimOf(delivery!.id), { ...SENT, route: { channel: "slack", to } });
      };
      await send("C1", undefined);
      expect(await journal.lastRoute()).toBeUndefined();
      await send("C2", "operator");
      await send("C3", "request");
      await send("C4", undefined);
      expect(await journal.lastRoute()).toMatchObject({ to: "C3" });
      expect(await journal.lastRoute("slack")).toMatchObject({ to: "C3" });
      expect(await journal.operatorRoute()).toEqual({ channel: "slack", to: "C2" });
    });

    test("interrupted deliveries are sent again after a restart, attempts and parts kept", async () => {
      const at = folder();
      const first = await start(at);
      const [delivery] = await addDeliveries(first, [{}, {}]);
      await first.claimDeliveries(10, NOW + 10);
      await first.progressDelivery(claimOf(delivery!.id), { partsSent: 1 });
      await first.close();
      const second = await start(at);
      expect(await second.claimDeliveries(10, NOW + 10)).toMatchObject([
        { id: delivery!.id, attempts: 2, partsSent: 1 },
      ]);
    });
  });
}

/** Completes a run with these deliveries. */
async function addDeliveries(journal: Journal, parts: Partial<NewDelivery>[]): Promise<NewDelivery[]> {
  const action = sampleRun(nextId());
  const event = sampleEvent({ actions: [action] });
  const deliveries = parts.map((part) => sampleDelivery(action.runId, { eventId: event.id, ...part }));
  await journal.accept(event);
  await journal.claimRuns(1, NOW);
  await journal.completeRun(claimOf(action.runId), sampleOutcome({ deliveries }));
  return deliveries;
}

async function claimedIds(journal: Journal, limit: number): Promise<string[]> {
  return (await journal.claimDeliveries(limit, NOW + 10)).map((delivery) => delivery.id);
}
