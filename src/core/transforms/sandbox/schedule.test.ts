import { describe, expect, test } from "vitest";
import { JOB } from "../../../../test/support/sandbox-job.ts";
import { type Candidate, findCandidates, type Module, pickWorker, takeBatch } from "./schedule.ts";
import { createHealth } from "./health.ts";
import type { Worker } from "./worker.ts";

interface Load {
  backlog: number;
  wait: number;
  held: boolean;
  ready: boolean;
  /** The module whose slices the worker has. */
  serves: string;
}

function toWorker(isQuarantine: boolean, load: Partial<Load>): Worker {
  const { backlog = 0, wait = 0, held = false, ready = true, serves } = load;
  return {
    isQuarantine,
    isReady: () => ready,
    isSlow: () => false,
    stuckOn: () => undefined,
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

function toCandidate(exclusive: boolean): Candidate {
  return { job: JOB, exclusive, isProbe: false, limitMs: JOB.timeoutMs };
}

function pick(
  exclusive: boolean,
  front: Partial<Load>,
  quarantine: Partial<Load>,
  isExclusiveWaiting = exclusive,
): string | undefined {
  const workers = [toWorker(false, front), toWorker(true, quarantine)];
  const picked = pickWorker(toCandidate(exclusive), { workers, size: 2, isExclusiveWaiting });
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

test("the slices of one module never hold all workers, and keep no job of it from the quarantine", () => {
  expect(pick(false, { serves: "a", held: true }, {})).toBeUndefined();
  expect(pick(true, { serves: "a" }, {})).toBe("quarantine");
  expect(pick(false, {}, { serves: "a" })).toBe("quarantine");
  expect(pick(false, { serves: "b", held: true }, {})).toBe("quarantine");
});

describe("the calls of a suspect", () => {
  function createModule(jobs: number): Module {
    const module: Module = { file: "/t/a.ts", health: createHealth(), exclusive: [], waiting: [], probe: undefined };
    for (let id = 0; id < jobs; id++) module.waiting.push({ ...JOB, text: String(id) });
    module.health.record("value", 0.1);
    return module;
  }

  test("run the newest first, one at a time", () => {
    const module = createModule(3);
    expect(findCandidates(module)).toMatchObject([{ job: { text: "0" }, isProbe: false, limitMs: 25 }]);
    module.health.record("timeout");
    const [next] = findCandidates(module);
    expect(next).toMatchObject({ job: { text: "2" }, isProbe: true, exclusive: false, limitMs: 25 });
    expect(module.waiting).toMatchObject([{}, {}, { isProbe: false }]);
    expect(takeBatch(module, next!, toWorker(false, {}))).toMatchObject([{ text: "2", isProbe: true, limitMs: 25 }]);
    expect(module).toMatchObject({ probe: { text: "2" }, waiting: [{ text: "0" }, { text: "1" }] });
    expect(findCandidates(module)).toEqual([]);
  });

  test("do not wait for one that must run exclusive, nor that for them", () => {
    const module = createModule(2);
    module.health.record("timeout");
    module.exclusive.push({ ...JOB, isLong: true });
    expect(findCandidates(module)).toMatchObject([
      { exclusive: true, isProbe: false, limitMs: 100 },
      { exclusive: false, isProbe: true },
    ]);
  });

  test("run alone if one of them ended a worker", () => {
    const module = createModule(1);
    module.health.endWorker();
    expect(findCandidates(module)).toMatchObject([{ exclusive: true, isProbe: false, limitMs: 100 }]);
  });
});

test("a worker without others takes every job", () => {
  for (const exclusive of [true, false]) {
    const workers = [toWorker(true, {})];
    expect(pickWorker(toCandidate(exclusive), { workers, size: 1, isExclusiveWaiting: exclusive })).toBe(workers[0]);
  }
});
