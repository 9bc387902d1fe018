import { expect, test } from "vitest";
import { createGate } from "../../../../test/support/gate.ts";
import { RecentFailure, rememberFailure } from "./recent-failure.ts";

test("callers share work, and a failure is remembered for half a minute", async () => {
  let now = 0;
  let count = 0;
  let isDown = true;
  let gate = createGate();
  const ask = rememberFailure(
    async () => {
      count += 1;
      await gate.passed;
      if (isDown) throw new Error("down");
      return count;
    },
    () => now,
  );
  const first = [ask(), ask(), ask()].map((answer) => answer.catch((error: Error) => error.message));
  gate.open();
  expect(await Promise.all(first)).toEqual(["down", "down", "down"]);
  now = 29_999;
  await expect(ask()).rejects.toThrow(RecentFailure);
  expect(count).toBe(1);
  now = 30_000;
  isDown = false;
  gate = createGate();
  gate.open();
  expect(await ask()).toBe(2);
  expect(await ask()).toBe(3);
});
