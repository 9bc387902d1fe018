import { setImmediate as nextTurn, setImmediate as nextStep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type BurstQueue, createBacklogGuard, createBodyBudget, createBurstQueue, type Upload } from "./overload.ts";

const KILOBYTE = 1000;

function start(maxBytes: number) {
  const openUpload = createBodyBudget(maxBytes);
  const refused: string[] = [];
  const paused = new Set<string>();
  const open = (name: string): Upload => {
    const upload = openUpload();
    upload.reader = {
      refuse: () => refused.push(name),
      pause: () => paused.add(name),
      resume: () => paused.delete(name),
    };
    return upload;
  };
  return { open, refused, paused };
}

test("the oldest incomplete upload makes room for a new one", () => {
  const { open, refused } = start(10 * KILOBYTE);
  const [first, second, third] = [open("first"), open("second"), open("third")];
  first.add(4 * KILOBYTE);
  second.add(4 * KILOBYTE);
  third.add(KILOBYTE);
  expect(refused).toEqual([]);
  third.add(4 * KILOBYTE);
  expect(refused).toEqual(["first"]);
});

test("a complete body is not refused, but counts until it is released", () => {
  const { open, refused } = start(10 * KILOBYTE);
  const [first, second] = [open("first"), open("second")];
  first.add(8 * KILOBYTE);
  first.reader = undefined;
  second.add(4 * KILOBYTE);
  expect(refused).toEqual(["second"]);
  first.release();
  const third = open("third");
  third.add(8 * KILOBYTE);
  first.add(8 * KILOBYTE);
  expect(refused).toEqual(["second"]);
});

test("a body alone may be larger than the budget: it has its own limit", () => {
  const { open, refused } = start(KILOBYTE);
  open("only").add(5 * KILOBYTE);
  expect(refused).toEqual([]);
});

test("a body in tiny pieces counts more than its bytes", () => {
  const { open, refused } = start(10 * KILOBYTE);
  const [tiny, other] = [open("tiny"), open("other")];
  for (let piece = 0; piece < 45; piece++) tiny.add(1);
  other.add(KILOBYTE);
  expect(refused).toEqual(["tiny"]);
});

test("large bodies are read in turn", async () => {
  const { open, paused } = start(10_000 * KILOBYTE);
  const [first, second, third] = [open("first"), open("second"), open("third")];
  for (const upload of [first, second, third]) upload.add(100 * KILOBYTE);
  expect([...paused]).toEqual(["second", "third"]);
  await nextTurn();
  expect([...paused]).toEqual(["third"]);
  second.add(200 * KILOBYTE);
  expect([...paused]).toEqual(["third", "second"]);
  third.release();
  await nextTurn();
  expect([...paused]).toEqual(["third"]);
});

test("a small body is never paused", () => {
  const { open, paused } = start(10_000 * KILOBYTE);
  open("large").add(200 * KILOBYTE);
  open("small").add(KILOBYTE);
  expect([...paused]).toEqual(["large"]);
});

test("a paused body counts what was read ahead of it", () => {
  const { open, refused } = start(300 * KILOBYTE);
  open("first").add(100 * KILOBYTE);
  open("second").add(100 * KILOBYTE);
  expect(refused).toEqual(["first"]);
});

/** The hooks of the requests in the order in which they began. */
function createRequests(turns: BurstQueue): { begun: string[]; send(hook: string, count: number): void } {
  const begun: string[] = [];
  return {
    begun,
    send(hook, count) {
      for (let sent = 0; sent < count; sent++) {
        const turn = turns.wait(() => hook);
        if (turn) void turn.then(() => begun.push(hook));
        else begun.push(hook);
      }
    },
  };
}

test("requests begin at once unless many come in one step of the event loop", async () => {
  const { begun, send } = createRequests(createBurstQueue());
  for (let step = 1; step <= 3; step++) {
    send("a", 64);
    expect(begun.length).toBe(64 * step);
    await nextStep();
  }
});

test("a request does not wait for the burst to another hook", async () => {
  const { begun, send } = createRequests(createBurstQueue());
  send("attacked", 1000);
  send("honest", 1);
  expect(begun.length).toBe(64);
  await nextStep();
  expect(begun.indexOf("honest")).toBeLessThan(64 + 16);
  send("other", 1);
  await nextStep();
  expect(begun.indexOf("other")).toBeLessThan(64 + 2 * 16);
  await expect.poll(() => begun.length).toBe(1002);
});

test("while a burst of connections comes, they are accepted first", async () => {
  // However long the steps take on this machine.
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const turns = createBurstQueue();
  const { begun, send } = createRequests(turns);
  for (let step = 0; step < 200; step++) {
    turns.accept();
    send("attacked", 1);
    await nextStep();
  }
  expect(begun.length).toBeLessThan(20);
  send("honest", 1);
  await expect.poll(() => begun.length).toBe(201);
  expect(begun.indexOf("honest")).toBeLessThan(begun.length - 1);
});

const A = "auth:a secret";
const B = "auth:b secret";

describe("of ten runs that may wait", () => {
  const guard = async (waiting: Record<string, number>) => {
    const pendingRuns = Object.values(waiting).reduce((sum, count) => sum + count, 0);
    const journal = {
      stats: async () => ({ events: 0, pendingRuns, pendingDeliveries: 0, pendingSystemEvents: 0 }),
      countSenders: async () => new Map(Object.entries(waiting)),
    };
    const backlog = createBacklogGuard(journal, () => 10);
    // The first request lets them be counted.
    backlog.requireRoom(A);
    await nextStep();
    return backlog;
  };

  test.each([
    ["a sender alone takes all", { [A]: 9 }, A, true],
    ["nobody takes more", { [A]: 10 }, B, false],
    ["a sender beside others takes less than what is left", { [A]: 5, [B]: 1 }, A, false],
    ["a sender with less takes more", { [A]: 5, [B]: 1 }, B, true],
    ["all tokens are one sender", { token: 5, [A]: 1 }, "token:ci", false],
    ["the service's own requests take what is left", { [A]: 8, [B]: 1 }, undefined, true],
    ["up to half, everybody takes what is there", { [A]: 4, [B]: 1 }, A, true],
  ])("%s", async (_what, waiting, credential, expected) => {
    expect((await guard(waiting)).hasRoom(credential)).toBe(expected);
  });

  test("what was accepted since the last count counts, and a refusal says whose runs are too many", async () => {
    const backlog = await guard({ [A]: 2, [B]: 4 });
    backlog.requireRoom(A);
    backlog.add(A, 1);
    expect(() => backlog.requireRoom(A)).toThrow("Too many runs of this sender are waiting.");
    backlog.add(B, 3);
    expect(() => backlog.requireRoom(A)).toThrow("Too many runs are waiting.");
  });
});
