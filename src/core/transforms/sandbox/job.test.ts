import { expect, test } from "vitest";
import { JOB } from "../../../../test/support/sandbox-job.ts";
import { createJobQueue, type JobEntry, type JobQueue } from "./job.ts";

/** The ids 1 to 3 in one order, then 4, then 5. */
function fill(): JobQueue {
  const queue = createJobQueue();
  for (const count of [3, 1, 1])
    queue.add(
      Array.from({ length: count }, () => JOB),
      200,
    );
  return queue;
}

function idsOf(entries: JobEntry[]): number[] {
  return entries.map(({ id }) => id);
}

test("the jobs of the first order run, as long as they may run together", () => {
  const queue = fill();
  expect([idsOf(queue.running()), idsOf(queue.waiting())]).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
  queue.split(1);
  expect([idsOf(queue.running()), idsOf(queue.waiting())]).toEqual([[1], [2, 3, 4, 5]]);
});

test("an answer to the first jobs removes them, and the next one runs", () => {
  const queue = fill();
  expect(idsOf(queue.answer(1, 3))).toEqual([1, 2, 3]);
  expect(idsOf(queue.running())).toEqual([4]);
  expect(idsOf(queue.answer(4, 1))).toEqual([4]);
  expect(idsOf(queue.running())).toEqual([5]);
});

test("jobs taken back do not wait, but have their turn", () => {
  const queue = fill();
  queue.waiting()[0]!.takenBack = true;
  expect(idsOf(queue.waiting())).toEqual([5]);
  expect(() => queue.answer(5, 1)).toThrow("out of order");
});

test.each([
  [2, 1, "out of order"],
  [1, 0, "More jobs"],
  [1, 6, "More jobs"],
  [1, Number.NaN, "More jobs"],
])("an answer to %d with %d jobs is refused", (id, count, reason) => {
  expect(() => fill().answer(id, count)).toThrow(reason);
});

test("a job that runs alone keeps no other of its module from another worker, nor does one taken back", () => {
  const queue = createJobQueue();
  queue.add([{ ...JOB, exclusive: true }], 200);
  expect(queue.has("a")).toBe(false);
  queue.add([JOB], 200);
  expect(queue.has("a")).toBe(true);
  queue.waiting()[0]!.takenBack = true;
  expect(queue.has("a")).toBe(false);
});
