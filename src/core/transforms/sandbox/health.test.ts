import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createHealth, type Health } from "./health.ts";

let health: Health;
beforeEach(() => {
  vi.useFakeTimers();
  health = createHealth();
});
afterEach(() => vi.useRealTimers());

function fail(times: number): void {
  for (let time = 0; time < times; time++) health.record("timeout");
}

test("a module is trusted after an answer, and not for ten seconds after a failure", () => {
  expect(health.isTrusted()).toBe(false);
  health.record("value");
  expect(health.isTrusted()).toBe(true);
  fail(1);
  health.record("value");
  expect(health.isTrusted()).toBe(false);
  expect(health.isSuspect()).toBe(true);
  vi.advanceTimersByTime(10_001);
  expect(health.isTrusted()).toBe(true);
});

test("five failures in a row open the circuit breaker, which lets a call through from time to time until one is answered", () => {
  fail(4);
  expect(health.refusal()).toBeUndefined();
  fail(1);
  expect(health.refusal()).toMatchObject({ kind: "unavailable", retryAfterMs: expect.any(Number) });
  vi.advanceTimersByTime(1500);
  expect([health.refusal(), health.untilTrial()]).toEqual([undefined, 0]);
  health.begin();
  expect(health.refusal()).toBeDefined();
  vi.advanceTimersByTime(300);
  fail(1);
  expect(health.refusal()).toBeDefined();
  vi.advanceTimersByTime(1500);
  health.record("value");
  expect([health.refusal(), health.untilTrial()]).toEqual([undefined, undefined]);
});

test("one bad payload a second does not keep a hook closed that has not answered before", () => {
  fail(5);
  for (let second = 0; second < 100; second++) {
    for (const kind of ["timeout", "value"] as const) {
      vi.advanceTimersByTime(500);
      if (health.refusal()) continue;
      health.begin();
      health.record(kind);
    }
  }
  expect(health.untilTrial()).toBeUndefined();
});

test("one bad payload a second never closes a hook that has answered an honest sender", () => {
  health.record("value");
  for (let second = 0; second < 3000; second++) {
    fail(1);
    expect(health.refusal()).toBeUndefined();
    vi.advanceTimersByTime(1000);
  }
});

test("a module that no longer answers anybody is refused in the end", () => {
  health.record("value");
  vi.advanceTimersByTime(60 * 60_000);
  fail(5);
  expect(health.refusal()).toBeDefined();
});

test("an error that the transform throws is an answer", () => {
  for (let time = 0; time < 9; time++) health.record("threw");
  expect(health.refusal()).toBeUndefined();
  expect(health.isTrusted()).toBe(true);
});

test("the more slices in a row were not enough, the longer is the pause before the next", () => {
  health.overrun();
  expect(health.isProbeDue()).toBe(true);
  for (const pauseMs of [25, 75, 175, 375, 775, 1575, 3000, 3000]) {
    health.overrun();
    vi.advanceTimersByTime(pauseMs - 1);
    expect(health.isProbeDue()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(health.isProbeDue()).toBe(true);
  }
  health.record("value", 1);
  health.overrun();
  expect(health.isProbeDue()).toBe(true);
});

test("a slice is a few times as long as the calls of a module usually take, within limits", () => {
  expect(health.sliceMs()).toBe(25);
  for (const [runMs, sliceMs, needsQuarantine] of [
    [15, 60, false],
    [500, 100, true],
  ] as const) {
    for (let call = 0; call < 200; call++) health.record("value", runMs);
    expect(health.sliceMs()).toBeCloseTo(sliceMs);
    expect(health.needsQuarantine()).toBe(needsQuarantine);
  }
});

test("a module is a suspect after a call that a slice was not enough for, until the next answer", () => {
  health.record("value", 1);
  health.overrun();
  expect(health.isTrusted()).toBe(false);
  health.record("value", 1);
  expect(health.isTrusted()).toBe(true);
});

test("a module is a suspect while a call runs far longer than usual", () => {
  for (let call = 0; call < 200; call++) health.record("value", 50);
  health.stall(100);
  expect(health.isSuspect()).toBe(false);
  for (let call = 0; call < 200; call++) health.record("value", 1);
  health.stall(100);
  expect(health.isSuspect()).toBe(true);
});

test("an open circuit breaker is forgotten only when no call of its module was made for an hour", () => {
  fail(5);
  for (let minute = 0; minute < 120; minute++) {
    expect([health.isSuspect(), health.isNegligible()]).toEqual([true, false]);
    vi.advanceTimersByTime(60_000);
    health.begin();
    fail(1);
  }
  vi.advanceTimersByTime(60 * 60_000);
  expect([health.isSuspect(), health.isNegligible()]).toEqual([true, true]);
});

test("a module that is not a suspect can be forgotten at once", () => {
  health.overrun();
  expect(health.isNegligible()).toBe(false);
  health.record("value");
  expect(health.isNegligible()).toBe(true);
});

test("the shorter the calls of a module are, the more of them are made together", () => {
  expect(health.maxBatch()).toBe(1);
  for (let call = 0; call < 100; call++) health.record("value", 0.1);
  expect(health.maxBatch()).toBeGreaterThanOrEqual(15);
  for (let call = 0; call < 100; call++) health.record("value", 5);
  expect(health.maxBatch()).toBe(1);
});
