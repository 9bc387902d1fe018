import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createGate } from "../../../test/support/gate.ts";
import type { Claim } from "../journal/journal.ts";
import { silentLog } from "../telemetry/log.ts";
import { createPool, type Pool } from "./work-pool.ts";

interface Work {
  pool: Pool<Claim>;
  /** The items that are due. */
  due: string[];
  /** The limit of each claim. */
  limits: number[];
  running: string[];
  drained: number;
  size: number;
  /** Holds the claims. */
  onClaim: () => Promise<void>;
  finish(id: string, options?: { freesSlot: boolean }): void;
}

function createWork(size: number): Work {
  const ends = new Map<string, { free: () => void; end: (isRecorded: boolean) => void }>();
  const work: Work = {
    due: [],
    limits: [],
    running: [],
    drained: 0,
    size,
    onClaim: async () => {},
    finish(id, { freesSlot } = { freesSlot: false }) {
      if (freesSlot) ends.get(id)?.free();
      else ends.get(id)?.end(true);
    },
    pool: createPool<{ id: string; token: number }>({
      size: () => work.size,
      async claim(limit) {
        work.limits.push(limit);
        const claimed = work.due.splice(0, limit);
        await work.onClaim();
        return claimed.map((id) => ({ id, token: 1 }));
      },
      execute({ id }, free) {
        const ended = Promise.withResolvers<boolean>();
        work.running.push(id);
        ends.set(id, { free, end: ended.resolve });
        return ended.promise.finally(() => work.running.splice(work.running.indexOf(id), 1));
      },
      onDrained: () => void (work.drained += 1),
      log: silentLog,
    }),
  };
  return work;
}

test("a pool that is full claims again once slots are freed", async () => {
  const work = createWork(2);
  work.due.push("a", "b", "c", "d", "e");
  work.pool.notify();
  expect(work.pool.mode()).toBe("claiming");
  await expect.poll(() => work.pool.mode()).toBe("full");
  work.pool.notify();
  expect(work.pool.mode()).toBe("full");
  work.finish("a");
  work.finish("b");
  await expect.poll(() => work.running).toEqual(["c", "d"]);
  work.finish("c", { freesSlot: true });
  await expect.poll(() => work.running).toEqual(["c", "d", "e"]);
  expect(work.pool.active()).toBe(3);
  expect(work.drained).toBe(0);
});

test("what becomes due during a claim is claimed after it", async () => {
  const work = createWork(3);
  const gate = createGate();
  work.due.push("a");
  work.onClaim = () => gate.passed;
  work.pool.notify();
  await expect.poll(() => work.pool.mode()).toBe("claiming");
  work.due.push("b");
  work.pool.notify();
  gate.open();
  await expect.poll(() => work.pool.mode()).toBe("waiting");
  expect(work.running).toEqual(["a", "b"]);
  expect(work.limits).toEqual([3, 2]);
});

test("a pool that grows claims for its new slots", async () => {
  const work = createWork(1);
  work.due.push("a", "b");
  work.pool.notify();
  await expect.poll(() => work.pool.mode()).toBe("full");
  work.size = 2;
  work.pool.notify();
  await expect.poll(() => work.running).toEqual(["a", "b"]);
});

test("a pool without slots claims nothing until it has some", async () => {
  const work = createWork(0);
  work.due.push("a");
  work.pool.notify();
  await expect.poll(() => work.pool.mode()).toBe("full");
  expect(work.limits).toEqual([]);
  work.size = 1;
  work.pool.notify();
  await expect.poll(() => work.running).toEqual(["a"]);
});

test("a claim that fails is made again at the next notice", async () => {
  const work = createWork(1);
  work.onClaim = () => Promise.reject(new Error("no database"));
  work.pool.notify();
  await expect.poll(() => work.pool.mode()).toBe("waiting");
  work.onClaim = async () => {};
  work.due.push("a");
  work.pool.notify();
  await expect.poll(() => work.running).toEqual(["a"]);
});

test("a stopped pool claims nothing, and executes what a claim in progress gives", async () => {
  const work = createWork(2);
  const gate = createGate();
  work.due.push("a");
  work.onClaim = () => gate.passed;
  work.pool.notify();
  await expect.poll(() => work.pool.mode()).toBe("claiming");
  work.pool.stop();
  let isIdle = false;
  const idle = work.pool.idle().then(() => (isIdle = true));
  gate.open();
  await expect.poll(() => work.running).toEqual(["a"]);
  work.due.push("b");
  work.pool.notify();
  await nextTurn();
  expect(isIdle).toBe(false);
  work.finish("a");
  await idle;
  expect(work.limits).toEqual([2]);
  expect(work.pool.mode()).toBe("stopped");
});
