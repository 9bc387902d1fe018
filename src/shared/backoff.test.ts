import { describe, expect, test } from "vitest";
import { DriverError } from "../errors.ts";
import { backoffMs, retryDelayMs } from "./backoff.ts";

const policy = { maxAttempts: 3, firstMs: 100, mostMs: 1000 };

test("backoffMs doubles its bound with each failure, up to the most, and takes any time below", () => {
  for (const [failures, bound] of [
    [1, 100],
    [2, 200],
    [3, 400],
    [10, 1000],
    [2000, 1000],
  ] as const) {
    const waits = Array.from({ length: 500 }, () => backoffMs(failures, policy));
    expect(Math.max(...waits)).toBeLessThanOrEqual(bound);
    expect(Math.max(...waits)).toBeGreaterThan(bound * 0.8);
    expect(Math.min(...waits)).toBeLessThan(bound * 0.2);
  }
});

describe("retryDelayMs", () => {
  test("a passing failure is tried again while tries are left", () => {
    const error = new DriverError("busy", { retryable: true });
    expect(retryDelayMs(error, 1, policy)).toBeLessThanOrEqual(100);
    expect(retryDelayMs(error, 2, policy)).toBeLessThanOrEqual(200);
    expect(retryDelayMs(error, 3, policy)).toBeUndefined();
  });

  test("a lasting one is not", () => {
    expect(retryDelayMs(new DriverError("no", { retryable: false }), 1, policy)).toBeUndefined();
  });

  test("an unexpected fault is", () => {
    expect(retryDelayMs(new TypeError("oops"), 1, policy)).toBeLessThanOrEqual(100);
  });

  test("the time that a service names is never cut short, but has an end", () => {
    const after = (retryAfterMs: number) =>
      retryDelayMs(new DriverError("busy", { retryable: true, retryAfterMs }), 1, policy);
    expect(after(5000)).toBeGreaterThanOrEqual(5000);
    expect(after(5000)).toBeLessThanOrEqual(5500);
    expect(after(1e12)).toBeLessThanOrEqual(3_960_000);
  });
});
