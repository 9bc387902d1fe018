import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Breaker, createBreaker } from "./breaker.ts";

describe("breaker", () => {
  let breaker: Breaker;
  beforeEach(() => {
    vi.useFakeTimers();
    breaker = createBreaker();
  });
  afterEach(() => vi.useRealTimers());

  function fail(times: number): void {
    for (let time = 0; time < times; time++) breaker.record("m", { kind: "timeout", message: "", log: [] });
  }

  test("two failures make a suspect, a success clears it", () => {
    fail(1);
    expect(breaker.isSuspect("m")).toBe(false);
    fail(1);
    expect(breaker.isSuspect("m")).toBe(true);
    expect(breaker.isSuspect("other")).toBe(false);
    breaker.record("m", { kind: "value", log: [] });
    expect(breaker.isSuspect("m")).toBe(false);
  });

  test("five in a row open it for five seconds, and one more opens it again", () => {
    fail(5);
    expect(breaker.whenOpen("m")).toMatchObject({ kind: "timeout", message: expect.stringContaining("5 s") });
    vi.advanceTimersByTime(5001);
    expect(breaker.whenOpen("m")).toBeUndefined();
    fail(1);
    expect(breaker.whenOpen("m")).toBeDefined();
  });

  test("an error that the transform throws does not count", () => {
    for (let time = 0; time < 9; time++) breaker.record("m", { kind: "threw", message: "", log: [] });
    expect(breaker.whenOpen("m")).toBeUndefined();
  });
});
