import { expect, test } from "vitest";
import type { Job } from "./job.ts";
import { pickWorker } from "./pool.ts";
import type { Worker } from "./worker.ts";

interface Load {
  backlog: number;
  wait: number;
  held: boolean;
  ready: boolean;
  /** The module whose jobs the worker has. */
  serves: string;
}

function toWorker(isQuarantine: boolean, load: Partial<Load>): Worker {
  const { backlog = 0, wait = 0, held = false, ready = true, serves } = load;
  return {
    isQuarantine,
    isReady: () => ready,
    isSlow: () => false,
    isHeld: () => held,
    isServing: (module) => module === serves,
    backlog: () => backlog,
    expectedWait: () => wait,
    give() {},
    takeBack: () => [],
    tick() {},
    isWorn: () => false,
    retire() {},
    unloadIdleModules() {},
    kill() {},
    ended: Promise.resolve(),
  };
}

function pick(
  alone: boolean,
  front: Partial<Load>,
  quarantine: Partial<Load>,
  isLoneWaiting = alone,
): string | undefined {
  const workers = [toWorker(false, front), toWorker(true, quarantine)];
  const picked = pickWorker({ ...JOB, alone }, { workers, size: 2, isLoneWaiting });
  return picked && (picked.isQuarantine ? "quarantine" : "front");
}

test("a job goes to the first worker as long as the wait is short", () => {
  expect(pick(false, { backlog: 8, wait: 1 }, {})).toBe("front");
  expect(pick(false, { backlog: 8, wait: 9 }, { backlog: 1, wait: 4 })).toBe("quarantine");
  expect(pick(false, { backlog: 2, wait: 9 }, { backlog: 9, wait: 12 })).toBe("front");
  expect(pick(false, { backlog: 64, wait: 1 }, {})).toBe("quarantine");
});

test("a job is not put behind one that holds its worker, and keeps the quarantine free for others", () => {
  expect(pick(false, { held: true }, { held: true })).toBeUndefined();
  expect(pick(false, { held: true }, {})).toBe("quarantine");
  expect(pick(false, { backlog: 64 }, {}, true)).toBeUndefined();
});

test("a job that must run alone waits for an empty quarantine and for a worker that serves the others", () => {
  expect(pick(true, {}, {})).toBe("quarantine");
  expect(pick(true, {}, { backlog: 1 })).toBeUndefined();
  expect(pick(true, { held: true }, {})).toBeUndefined();
  expect(pick(true, { ready: false }, {})).toBeUndefined();
  expect(pick(false, { held: true }, {}, true)).toBe("quarantine");
});

test("one module never has all workers", () => {
  expect(pick(false, { serves: "a", held: true }, {})).toBeUndefined();
  expect(pick(true, { serves: "a" }, {})).toBeUndefined();
  expect(pick(false, {}, { serves: "a" })).toBe("quarantine");
  expect(pick(false, { serves: "b", held: true }, {})).toBe("quarantine");
});

test("a worker without others takes every job", () => {
  for (const alone of [true, false]) {
    const workers = [toWorker(true, {})];
    expect(pickWorker({ ...JOB, alone }, { workers, size: 1, isLoneWaiting: alone })).toBe(workers[0]);
  }
});

const JOB: Job = {
  operation: "call",
  bundle: {
    spec: { file: "/t/a.ts", root: "/t", timeoutMs: 100, memoryMb: 64, isolation: "request", secrets: {} },
    id: "a",
    code: "",
    sourceMap: "{}",
    inputs: [],
  },
  module: "a",
  text: "",
  body: Buffer.alloc(0),
  timeoutMs: 100,
  queuedAt: 0,
  crashes: 0,
  alone: false,
  settle() {},
};
