import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAlarm } from "./alarm.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("rings once, at the earliest moment it was set to", () => {
  const ring = vi.fn<() => void>();
  const alarm = createAlarm(ring);
  for (const inMs of [300, 100, 200]) alarm.set(Date.now() + inMs);
  vi.advanceTimersByTime(99);
  expect(ring).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1000);
  expect(ring).toHaveBeenCalledOnce();
});

test("can be set again when it has rung", () => {
  const ring = vi.fn<() => void>();
  const alarm = createAlarm(ring);
  alarm.set(0);
  vi.advanceTimersByTime(1);
  alarm.set(Date.now() + 500);
  vi.advanceTimersByTime(500);
  expect(ring).toHaveBeenCalledTimes(2);
});

test("a moment beyond what a timer can wait does not ring at once", () => {
  const ring = vi.fn<() => void>();
  createAlarm(ring).set(Date.now() + 2 ** 40);
  vi.advanceTimersByTime(1_000_000);
  expect(ring).not.toHaveBeenCalled();
});

test("is silent once stopped", () => {
  const ring = vi.fn<() => void>();
  const alarm = createAlarm(ring);
  alarm.set(Date.now() + 10);
  alarm.stop();
  alarm.set(Date.now() + 10);
  vi.advanceTimersByTime(100);
  expect(ring).not.toHaveBeenCalled();
});
