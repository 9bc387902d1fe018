import { expect, test } from "vitest";
import { DriverError } from "../errors.ts";
import { retryDelayMs } from "./retry.ts";

const policy = { maxAttempts: 3, firstMs: 100, maxMs: 1000 };

test("a retryable error is retried while attempts are left", () => {
  const error = new DriverError("busy", { retryable: true });
  expect(retryDelayMs(error, 1, policy)).toBeLessThanOrEqual(100);
  expect(retryDelayMs(error, 2, policy)).toBeLessThanOrEqual(200);
  expect(retryDelayMs(error, 3, policy)).toBeUndefined();
});

test("a permanent error is not retried", () => {
  expect(retryDelayMs(new DriverError("no", { retryable: false }), 1, policy)).toBeUndefined();
});

test("an unexpected error is retried", () => {
  expect(retryDelayMs(new TypeError("oops"), 1, policy)).toBeLessThanOrEqual(100);
});

test("a Retry-After is respected, up to a limit", () => {
  const after = (retryAfterMs: number) =>
    retryDelayMs(new DriverError("busy", { retryable: true, retryAfterMs }), 1, policy);
  expect(after(5000)).toBeGreaterThanOrEqual(5000);
  expect(after(5000)).toBeLessThanOrEqual(5500);
  expect(after(1e12)).toBeLessThanOrEqual(3_960_000);
});
