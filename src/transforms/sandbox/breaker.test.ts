import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Breaker, createBreaker } from "./breaker.ts";

let breaker: Breaker;
beforeEach(() => {
  vi.useFakeTimers();
  breaker = createBreaker();
});
afterEach(() => vi.useRealTimers());

function fail(times: number): void {
  for (let time = 0; time < times; time++) breaker.record("m", { kind: "timeout", message: "", log: [] });
}

test("two hard failures make a suspect, a good call clears it", () => {
  fail(1);
  expect(breaker.isSuspect("m")).toBe(false);
  fail(1);
  expect(breaker.isSuspect("m")).toBe(true);
  expect(breaker.isSuspect("other")).toBe(false);
  breaker.record("m", { kind: "unchanged", log: [] });
  expect(breaker.isSuspect("m")).toBe(false);
});

test("five in a row fence it off for five seconds, one more at once after that", () => {
  fail(5);
  expect(breaker.fence("m")).toMatchObject({ kind: "timeout", message: expect.stringContaining("5 s") });
  vi.advanceTimersByTime(5001);
  expect(breaker.fence("m")).toBeUndefined();
  fail(1);
  expect(breaker.fence("m")).toBeDefined();
});

test("an error of the transform's own is not hard", () => {
  for (let time = 0; time < 9; time++) breaker.record("m", { kind: "threw", message: "", log: [] });
  expect(breaker.fence("m")).toBeUndefined();
});
