import { expect, test } from "vitest";
import { createJobQueue, type Job, type JobQueue } from "./job.ts";

const JOB: Job = {
  operation: "call",
  bundle: {
    spec: {
      file: "/t/a.ts",
      root: "/t",
      timeoutMs: 100,
      memoryMb: 64,
      isolation: "request",
      secrets: {},
    },
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

function fill(readProgress: () => number): JobQueue {
  const queue = createJobQueue(readProgress);
  for (let count = 0; count < 4; count++) queue.add(JOB, 200);
  return queue;
}

test("the first job runs if the child has noted nothing or an answered job", () => {
  let noted = 0;
  const queue = fill(() => noted);
  expect(queue.running()?.id).toBe(1);
  noted = 2;
  queue.answer(1);
  queue.answer(2);
  expect(queue.running()?.id).toBe(3);
});

test("the noted job runs, and the others wait, even those with unsent answers", () => {
  const queue = fill(() => 3);
  expect(queue.running()?.id).toBe(3);
  expect(queue.waiting().map(({ id }) => id)).toEqual([1, 2, 4]);
  queue.waiting()[0]!.takenBack = true;
  expect(queue.waiting().map(({ id }) => id)).toEqual([2, 4]);
});

test("an invalid note is ignored", () => {
  expect(fill(() => 4_000_000_000).running()?.id).toBe(1);
});

test("an answer out of order is refused", () => {
  expect(() => fill(() => 0).answer(2)).toThrow("out of order");
});
