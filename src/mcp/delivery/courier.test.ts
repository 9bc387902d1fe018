import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as fc from "../../../test/support/property.ts";
import type { NumberedPublication, Subscription, SubscriptionProgress } from "../../core/journal/journal.ts";
import type { PostResult } from "./callback.ts";
import { toCursor } from "../occurrence.ts";
import {
  type Courier,
  type CourierParts,
  createCourier,
  isOver,
  isSuspended,
  nextDueAt,
  proceed,
  toProgress,
} from "./courier.ts";

const MINUTE_MS = 60_000;
const OK: PostResult = { kind: "ok", text: "" };
const fail = (status = 500): PostResult => ({ kind: "failed", reason: status < 500 ? "http_4xx" : "http_5xx", status });

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

interface Sent {
  position: number;
  cursor: number;
  id: string;
  body: { type?: string; cursor?: string };
}

/** A subscriber of `count` events, of which `answer` says what becomes of each attempt. */
function startCourier(count: number, answer: (sent: Sent) => PostResult, progress: Partial<SubscriptionProgress> = {}) {
  const sent: Sent[] = [];
  const publications = Array.from({ length: count }, (_, index): NumberedPublication => {
    const position = index + 1;
    return { id: `e${position}`, name: "n", arguments: {}, at: 0, via: [], position };
  });
  const subscription: Subscription = {
    id: "sub_1",
    principal: "desk",
    name: "n",
    arguments: {},
    url: "https://example.com",
    secret: "",
    createdAt: 0,
    refreshedAt: 0,
    generation: "g",
    progress: { acked: 0, cursor: "store.0", scanned: 0, open: [], abandonedCount: 0, ...progress },
  };
  const courier = createCourier(subscription, [{ text: "s", until: Infinity }]);
  const parts = {
    storeId: "store",
    swept: { position: 0, id: "" },
    read: async ({ after, upTo }: { after: number; upTo: number }) =>
      publications.slice(Math.max(0, after), Math.max(0, upTo)),
    feed: { advance: async () => undefined, after: (position: number) => publications.slice(position, position + 10) },
    takes: () => true,
    hasRoom: () => true,
    async post(_courier: Courier, id: string, text: string) {
      const body = JSON.parse(text);
      const one = {
        id,
        body,
        position: Number(id.slice(1)),
        cursor: Number(String(body.cursor).split(".")[1]?.slice(0, -6)),
      };
      sent.push(one);
      return answer(one);
    },
    settled: () => undefined,
  } satisfies Omit<CourierParts, "now">;
  return {
    courier,
    sent,
    parts,
    /** Until nothing more is sent; between two rounds every wait is over. */
    async run(rounds = 100, stepMs = 2 * MINUTE_MS): Promise<void> {
      for (let round = 0; round < rounds; round += 1) {
        const before = sent.length;
        await proceed(courier, { ...parts, now: Date.now() });
        await new Promise(setImmediate);
        if (sent.length === before && courier.outstanding.size === 0) return;
        vi.setSystemTime(Date.now() + stepMs);
      }
    },
  };
}

test("a courier sends each event in order, and its cursor follows what is acknowledged", async () => {
  const { courier, sent, run } = startCourier(30, () => OK);
  await run();
  expect(sent.map(({ position }) => position)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
  expect(courier.progress).toMatchObject({ acked: 30, abandonedCount: 0 });
});

const HOUR_MS = 60 * MINUTE_MS;

test("an event that fails for a day while others succeed is given up and listed, and the subscriber gets a gap", async () => {
  const { courier, sent, parts } = startCourier(400, ({ position }) => (position === 3 ? fail() : OK));
  let released = 10;
  parts.feed.after = (
    (after) => (position: number) =>
      after(position).filter((row) => row.position <= released)
  )(parts.feed.after);
  const step = async (): Promise<void> => {
    await proceed(courier, { ...parts, now: Date.now() });
    await new Promise(setImmediate);
  };
  for (let hour = 0; hour < 23; hour += 1) {
    for (let round = 0; round < 12; round += 1) {
      released += 1;
      await step();
      vi.setSystemTime(Date.now() + 5 * MINUTE_MS);
    }
  }
  // One slow event holds up nothing, whatever came after it.
  expect(new Set(sent.map(({ position }) => position)).size).toBe(released);
  expect(courier.progress).toMatchObject({ acked: 2, abandonedCount: 0 });
  expect(toProgress(courier)).toMatchObject({ scanned: released, open: [{ position: 3 }] });
  for (let round = 0; round < 30; round += 1) {
    released += 1;
    await step();
    vi.setSystemTime(Date.now() + 5 * MINUTE_MS);
  }
  expect(courier.abandoned).toEqual([{ id: "e3", position: 3, reason: "http_5xx", at: expect.any(Number) }]);
  expect(courier.progress).toMatchObject({ acked: released, abandonedCount: 1, hasGap: undefined });
  const gaps = sent.filter(({ body }) => body.type === "gap");
  expect(gaps).toHaveLength(1);
  expect(gaps[0]!.body).toMatchObject({ truncated: true, cursor: expect.stringMatching(/^store\.\d+$/) });
});

test("what has failed is tried again after a restart, and its day goes on", async () => {
  const first = startCourier(20, ({ position }) => (position === 3 ? fail() : OK));
  await first.run(5, 1000);
  const progress = toProgress(first.courier);
  expect(progress).toMatchObject({ acked: 2, scanned: 20, open: [{ position: 3, failingSince: expect.any(Number) }] });
  vi.setSystemTime(Date.now() + 25 * HOUR_MS);
  const second = startCourier(20, () => fail(), progress);
  await second.run(3, 1000);
  expect(second.sent.filter(({ body }) => !body.type).map(({ position }) => position)).toEqual([3]);
  expect(second.courier.abandoned).toMatchObject([{ id: "e3" }]);
  const third = startCourier(20, () => OK, progress);
  await third.run();
  expect(third.sent.map(({ position }) => position)).toEqual([3]);
  expect(third.courier.progress).toMatchObject({ acked: 20, abandonedCount: 0 });
  expect(third.courier.progress.cursor).toBe(toCursor("store", { position: 20, id: "e20" }));
});

test("a third of all attempts fails: nothing is lost", async () => {
  let count = 0;
  const { courier, run } = startCourier(300, () => ((count += 1) % 3 === 0 ? fail() : OK));
  await run(2000, 1000);
  expect(courier.progress).toMatchObject({ acked: 300, abandonedCount: 0 });
  expect(courier.abandoned).toEqual([]);
});

test("a subscriber that is down for 15 minutes is suspended, keeps its place, and loses nothing", async () => {
  let isDown = true;
  const { courier, sent, run } = startCourier(10, () => (isDown ? fail() : OK));
  await run(30, MINUTE_MS);
  expect(isSuspended(courier)).toBe(true);
  expect(courier.progress).toMatchObject({ acked: 0, abandonedCount: 0, lastError: "http_5xx" });
  const before = sent.length;
  isDown = false;
  vi.setSystemTime(Date.now() + 60 * MINUTE_MS);
  await run();
  expect(sent).toHaveLength(before);
  courier.subscription.refreshedAt = Date.now();
  await run();
  expect(sent.slice(before).map(({ position }) => position)).toEqual(
    Array.from({ length: 10 }, (_, index) => index + 1),
  );
  expect(courier.progress).toMatchObject({ acked: 10, suspendedAt: undefined, failingSince: undefined });
});

describe("a control message", () => {
  test("tells of a gap once, with one id in each attempt, before what is left is sent", async () => {
    let tries = 0;
    const started = startCourier(10, ({ body }) => (body.type === "gap" && (tries += 1) < 3 ? fail() : OK));
    started.parts.swept = { position: 6, id: "e6" };
    await started.run(20, MINUTE_MS);
    const gaps = started.sent.filter(({ body }) => body.type === "gap");
    expect(gaps).toHaveLength(3);
    for (const { body } of gaps) {
      expect(body).toEqual({ type: "gap", cursor: toCursor("store", started.parts.swept), truncated: true });
    }
    expect(new Set(gaps.map(({ id }) => id)).size).toBe(1);
    expect(gaps[0]!.id).toMatch(/^msg_gap_[\da-f]{32}$/);
    expect(started.sent.slice(3).map(({ position }) => position)).toEqual([7, 8, 9, 10]);
  });

  test.each([["gap", 400] as const, ["terminated", 404] as const])(
    "of type %s is final when it is refused",
    async (type, status) => {
      const ended = type === "terminated" ? { code: -32011, message: "Gone.", at: 1 } : undefined;
      const started = startCourier(3, ({ body }) => (body.type ? fail(status) : OK), { ended });
      started.parts.swept = { position: 1, id: "e1" };
      await started.run();
      expect(started.sent.filter(({ body }) => body.type)).toHaveLength(1);
      expect(isOver(started.courier)).toBe(type === "terminated");
      if (type === "gap") expect(started.courier.progress.acked).toBe(3);
    },
  );
});

test("nothing is due of a subscriber that was not told of a gap until it was suspended", async () => {
  const { courier, parts, run } = startCourier(3, () => fail());
  parts.swept = { position: 1, id: "e1" };
  await proceed(courier, { ...parts, now: Date.now() });
  await new Promise(setImmediate);
  vi.setSystemTime(Date.now() + 16 * MINUTE_MS);
  await run();
  expect(isSuspended(courier)).toBe(true);
  expect(nextDueAt(courier)).toBe(Infinity);
});

test("of one that has ended, only the message that says so is due", async () => {
  const { courier, parts } = startCourier(3, () => fail());
  await proceed(courier, { ...parts, now: Date.now() });
  await new Promise(setImmediate);
  courier.progress.ended = { code: -32011, message: "Gone.", at: 1 };
  vi.setSystemTime(Date.now() + MINUTE_MS);
  await proceed(courier, { ...parts, now: Date.now() });
  await new Promise(setImmediate);
  expect(nextDueAt(courier)).toBeGreaterThan(Date.now());
});

test("no cursor is ahead of an event that is neither acknowledged nor given up, whatever fails and whenever it stops", async () => {
  const outcome = fc.constantFrom(OK, OK, OK, fail(), fail(413));
  await fc.assert(
    fc.asyncProperty(
      fc.array(outcome, { minLength: 20, maxLength: 200 }),
      fc.integer({ min: 1, max: 15 }),
      async (outcomes, stopAfter) => {
        const acknowledged = new Set<number>();
        let next = 0;
        let progress: Partial<SubscriptionProgress> = {};
        const given = new Set<number>();
        for (let life = 0; life < 3; life += 1) {
          const started = startCourier(
            40,
            ({ position, cursor }) => {
              for (const abandoned of started.courier.abandoned) given.add(abandoned.position);
              for (let before = 1; before <= cursor; before += 1) {
                expect(acknowledged.has(before) || given.has(before)).toBe(true);
              }
              const result = outcomes[(next += 1) % outcomes.length]!;
              if (result.kind === "ok") acknowledged.add(position);
              return result;
            },
            structuredClone(progress),
          );
          await started.run(life === 2 ? 300 : stopAfter, 10_000);
          for (const { position } of started.courier.abandoned) given.add(position);
          progress = toProgress(started.courier);
        }
        for (let position = 1; position <= Number(progress.acked); position += 1) {
          expect(acknowledged.has(position) || given.has(position)).toBe(true);
        }
      },
    ),
    { numRuns: 30 },
  );
});
