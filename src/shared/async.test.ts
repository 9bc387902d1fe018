import { describe, afterEach, beforeEach, expect, test, vi } from "vitest";
import { createAlarm, within } from "./async.ts";

describe("within", () => {
  const limits = {
    timeoutMs: 20,
    toTimeout: () => new Error("time is up"),
    signal: new AbortController().signal,
  };

  test("gives the result of work that ends in time", async () => {
    await expect(within(async () => "done", limits)).resolves.toBe("done");
  });

  test("ends work that heeds no signal", async () => {
    await expect(within(() => new Promise(() => undefined), limits)).rejects.toThrow("time is up");
  });

  test("the end goes before what the work says of it", async () => {
    const work = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted by the client"))));
    await expect(within(work, limits)).rejects.toThrow("time is up");
  });

  test("ends with the reason of the signal, also when it has aborted before", async () => {
    const stop = new AbortController();
    const cutOff = within(() => new Promise(() => undefined), {
      ...limits,
      timeoutMs: 10_000,
      signal: stop.signal,
    });
    stop.abort(new Error("stopped"));
    await expect(cutOff).rejects.toThrow("stopped");
    await expect(within(async () => "done", { ...limits, signal: stop.signal })).rejects.toThrow("stopped");
  });

  test("work that fails later than its end fails unheard", async () => {
    const late = () => new Promise((_, reject) => setTimeout(() => reject(new Error("late")), 40));
    await expect(within(late, limits)).rejects.toThrow("time is up");
    await new Promise((resolve) => setTimeout(resolve, 40));
  });
});

describe("alarm", () => {
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
});
