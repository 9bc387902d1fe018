import { expect, test } from "vitest";
import type { Job } from "./job.ts";
import { createJobRow, type JobRow } from "./worker.ts";

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
  trust: "proven",
  queuedAt: 0,
  deaths: 0,
  settle() {},
};

function fill(readProgress: () => number): JobRow {
  const row = createJobRow(readProgress);
  for (let count = 0; count < 4; count++) row.add(JOB, 200);
  return row;
}

test("the first job runs, where the child has noted nothing or what is answered already", () => {
  let noted = 0;
  const row = fill(() => noted);
  expect(row.running()?.ticket).toBe(1);
  noted = 2;
  row.answer(1);
  row.answer(2);
  expect(row.running()?.ticket).toBe(3);
});

test("the job that is noted runs, and those around it wait, answers of theirs unsent", () => {
  const row = fill(() => 3);
  expect(row.running()?.ticket).toBe(3);
  expect(row.waiting().map(({ ticket }) => ticket)).toEqual([1, 2, 4]);
  row.waiting()[0]!.takenBack = true;
  expect(row.waiting().map(({ ticket }) => ticket)).toEqual([2, 4]);
});

test("a note that makes no sense is not believed", () => {
  expect(fill(() => 4_000_000_000).running()?.ticket).toBe(1);
});

test("an answer out of turn is refused", () => {
  expect(() => fill(() => 0).answer(2)).toThrow("out of turn");
});
