import { expect, test } from "vitest";
import { DriverError, JournalUnavailable } from "../errors.ts";
import { silentLog } from "../telemetry/log.ts";
import { outageDelayMs, retryDelayMs, retryWhileUnavailable } from "./retry.ts";

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

const waiting = { log: silentLog, signal: new AbortController().signal };

test("repeats a call until the journal is available", async () => {
  let attempts = 0;
  const write = async () => {
    attempts += 1;
    if (attempts < 3) throw new JournalUnavailable("the disk is full");
    return attempts;
  };
  await expect(retryWhileUnavailable(write, waiting)).resolves.toBe(3);
});

test("does not repeat a call that failed for another reason", async () => {
  let attempts = 0;
  const write = async () => {
    attempts += 1;
    throw new TypeError("oops");
  };
  await expect(retryWhileUnavailable(write, waiting)).rejects.toThrow("oops");
  expect(attempts).toBe(1);
});

test("stops when the service shuts down", async () => {
  const stop = new AbortController();
  const write = async () => {
    stop.abort(new Error("stopped"));
    throw new JournalUnavailable("the disk is full");
  };
  await expect(retryWhileUnavailable(write, { ...waiting, signal: stop.signal })).rejects.toThrow("stopped");
});

test("the wait for a provider grows with its outage, and ends with it", () => {
  const now = 10_000_000;
  const after = (outageMs: number, retryAfterMs?: number) =>
    outageDelayMs({ retryAfterMs }, { since: now - outageMs, now });
  const within = (wait: number | undefined, ms: number): boolean =>
    wait !== undefined && wait >= ms && wait <= ms * 1.1;
  expect(within(after(0), 1000)).toBe(true);
  expect(within(after(8000), 8000)).toBe(true);
  expect(within(after(600_000), 60_000)).toBe(true);
  // A service that asks for a second, again and again, is not asked 1800 times.
  expect(within(after(600_000, 1000), 60_000)).toBe(true);
  expect(within(after(0, 300_000), 300_000)).toBe(true);
  expect(after(1_790_000, 3_600_000)).toBe(10_000);
  expect(after(1_800_000)).toBeUndefined();
});
