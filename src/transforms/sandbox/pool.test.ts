import { expect, test } from "vitest";
import type { ChildHandle, Job, Trust } from "./job.ts";
import { pickChild } from "./pool.ts";

interface Situation {
  backlog: number;
  wait: number;
  held: boolean;
}

/** A child in a situation: the pick looks at nothing else. */
function toChild(isQuarantine: boolean, situation: Partial<Situation>): ChildHandle {
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
    tidy() {},
    kill() {},
    ended: Promise.resolve(),
  };
}

function pick(
  trust: Trust,
  front: Partial<Situation>,
  quarantine: Partial<Situation>,
  waits: Trust[] = [trust],
): string | undefined {
  const ready = [toChild(false, front), toChild(true, quarantine)];
  const bundle = { spec: SPEC, id: "a", code: "", sourceMap: "{}", inputs: [] };
  const job: Job = { ...REQUEST, bundle, trust, queuedAt: 0, deaths: 0, settle() {} };
  const picked = pickChild(ready, job, new Set(waits));
  return picked && (picked.isQuarantine ? "quarantine" : "front");
}

test("a proven job goes to the first child, as long as its wait is short", () => {
  expect(pick("proven", { backlog: 8, wait: 1 }, {})).toBe("front");
  expect(pick("proven", { backlog: 8, wait: 9 }, { backlog: 1, wait: 4 })).toBe("quarantine");
  expect(pick("proven", { backlog: 2, wait: 9 }, { backlog: 9, wait: 12 })).toBe("front");
  expect(pick("proven", { backlog: 16, wait: 1 }, {})).toBe("quarantine");
});

test("a proven job is put behind none that holds its child, and in no one's way", () => {
  expect(pick("proven", { held: true }, { held: true })).toBeUndefined();
  expect(pick("proven", { held: true }, {})).toBe("quarantine");
  expect(pick("proven", { held: true }, {}, ["proven", "suspect"])).toBeUndefined();
  expect(pick("proven", { held: true }, {}, ["proven", "untried"])).toBeUndefined();
});

test("any other has the quarantine to itself, and a suspect lets the untried go first", () => {
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
