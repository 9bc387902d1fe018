import { expect, test } from "vitest";
import type { Job, Trust } from "./job.ts";
import { pickWorker } from "./pool.ts";
import type { Worker } from "./worker.ts";

interface Situation {
  backlog: number;
  wait: number;
  held: boolean;
}

function toWorker(isQuarantine: boolean, situation: Partial<Situation>): Worker {
  const { backlog = 0, wait = 0, held = false } = situation;
  return {
    isQuarantine,
    isReady: () => true,
    isSlow: () => false,
    isHeld: () => held,
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
  trust: Trust,
  front: Partial<Situation>,
  quarantine: Partial<Situation>,
  waiting: Trust[] = [trust],
): string | undefined {
  const ready = [toWorker(false, front), toWorker(true, quarantine)];
  const bundle = { spec: SPEC, id: "a", code: "", sourceMap: "{}", inputs: [] };
  const job: Job = { ...REQUEST, bundle, trust, queuedAt: 0, crashes: 0, settle() {} };
  const picked = pickWorker(ready, job, new Set(waiting));
  return picked && (picked.isQuarantine ? "quarantine" : "front");
}

test("a proven job goes to the first worker as long as the wait is short", () => {
  expect(pick("proven", { backlog: 8, wait: 1 }, {})).toBe("front");
  expect(pick("proven", { backlog: 8, wait: 9 }, { backlog: 1, wait: 4 })).toBe("quarantine");
  expect(pick("proven", { backlog: 2, wait: 9 }, { backlog: 9, wait: 12 })).toBe("front");
  expect(pick("proven", { backlog: 16, wait: 1 }, {})).toBe("quarantine");
});

test("a proven job is not put behind a job that holds its worker, and keeps the quarantine free for others", () => {
  expect(pick("proven", { held: true }, { held: true })).toBeUndefined();
  expect(pick("proven", { held: true }, {})).toBe("quarantine");
  expect(pick("proven", { held: true }, {}, ["proven", "suspect"])).toBeUndefined();
  expect(pick("proven", { held: true }, {}, ["proven", "untried"])).toBeUndefined();
});

test("other jobs run alone in the quarantine, untried ones before suspects", () => {
  for (const trust of ["untried", "suspect"] as const) {
    expect(pick(trust, {}, {})).toBe("quarantine");
    expect(pick(trust, {}, { backlog: 1 })).toBeUndefined();
  }
  expect(pick("suspect", {}, {}, ["untried", "suspect"])).toBeUndefined();
  expect(pick("untried", {}, {}, ["untried", "suspect"])).toBe("quarantine");
});

const SPEC = {
  file: "/t/a.ts",
  root: "/t",
  timeoutMs: 100,
  memoryMb: 64,
  isolation: "request" as const,
  secrets: {},
};
const REQUEST = { operation: "call" as const, module: "a", text: "", body: Buffer.alloc(0), timeoutMs: 100 };
