import { type ChildProcess, spawn } from "node:child_process";
import { afterEach, expect, test } from "vitest";
import { createJobClock } from "./child-usage.ts";

let child: ChildProcess | undefined;
afterEach(() => child?.kill("SIGKILL"));

test.runIf(process.platform === "linux")("a process that waits for a CPU ages slowly", () => {
  child = spawn(process.execPath, ["-e", "for (;;);"]);
  child.kill("SIGSTOP");
  const clock = createJobClock(child.pid);
  for (let tick = 0; tick < 20; tick++) clock.advance(50);
  expect(clock.age()).toBeGreaterThan(90);
  expect(clock.age()).toBeLessThan(200);
});

test("a process that has a CPU ages", async () => {
  child = spawn(process.execPath, ["-e", "for (;;);"]);
  const clock = createJobClock(child.pid);
  let last = performance.now();
  await expect
    .poll(() => {
      const now = performance.now();
      clock.advance(now - last);
      last = now;
      return clock.age();
    })
    .toBeGreaterThan(100);
});

test("a job begins at zero, and a long tick counts as a short one", () => {
  const clock = createJobClock(undefined);
  clock.advance(4);
  expect(clock.age()).toBe(4);
  clock.restart();
  clock.advance(1000);
  expect(clock.age()).toBe(50);
});
