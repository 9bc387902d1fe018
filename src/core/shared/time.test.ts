import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  backoffMs,
  createAlarm,
  createWakeUp,
  parseDuration,
  settlesWithin,
  untilAborted,
  withTimeout,
} from "./time.ts";

test.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["30m", 1_800_000],
  ["24h", 86_400_000],
  ["7d", 604_800_000],
])("%s", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(["", "30", "m", "30 m", "-1s", "1.5h", "30w"])("refuses %j", (text) => {
  expect(() => parseDuration(text)).toThrow(RangeError);
});

test.each([
  [1, 100],
  [2, 200],
  [3, 400],
  [10, 1000],
  [2000, 1000],
])("after %i failures the wait is between half of %i ms and all of it", (failures, max) => {
  const waits = Array.from({ length: 500 }, () => backoffMs(failures, { firstMs: 100, maxMs: 1000 }));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(max / 2);
  expect(Math.min(...waits)).toBeLessThan(max * 0.6);
  expect(Math.max(...waits)).toBeLessThanOrEqual(max);
  expect(Math.max(...waits)).toBeGreaterThan(max * 0.9);
});

const never = new Promise<never>(() => undefined);

describe("withTimeout", () => {
  const options = { timeoutMs: 20, timeoutError: () => new Error("time is up") };

  test("gives the result of work that ends in time", async () => {
    await expect(withTimeout(async () => "done", options)).resolves.toBe("done");
  });

  test("ends work that ignores its signal", async () => {
    await expect(withTimeout(() => never, options)).rejects.toThrow("time is up");
  });

  test("rejects with the timeout, not with what the aborted work says", async () => {
    const work = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted by the client"))));
    await expect(withTimeout(work, options)).rejects.toThrow("time is up");
  });

  test("rejects with the reason of the signal, also when it was aborted before", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const canceled = withTimeout(() => never, { ...options, timeoutMs: 10_000, signal });
    controller.abort(new Error("stopped"));
    await expect(canceled).rejects.toThrow("stopped");
    await expect(withTimeout(async () => "done", { ...options, signal })).rejects.toThrow("stopped");
  });

  test("ignores work that fails after the timeout", async () => {
    const late = Promise.withResolvers<never>();
    await expect(withTimeout(() => late.promise, options)).rejects.toThrow("time is up");
    late.reject(new Error("late"));
    await new Promise(setImmediate);
  });
});

test("settlesWithin tells whether a promise settles in time", async () => {
  await expect(settlesWithin(Promise.resolve(), 10_000)).resolves.toBe(true);
  await expect(settlesWithin(Promise.reject(new Error("failed")), 10_000)).resolves.toBe(true);
  await expect(settlesWithin(never, 1)).resolves.toBe(false);
});

test("untilAborted settles like the promise, or rejects when the signal aborts", async () => {
  const controller = new AbortController();
  await expect(untilAborted(Promise.resolve(1), controller.signal)).resolves.toBe(1);
  const waiting = untilAborted(never, controller.signal);
  controller.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  await expect(untilAborted(never, controller.signal)).rejects.toThrow("stopped");
});

describe("createWakeUp", () => {
  test("ends all waits, and later ones until it is reset", async () => {
    const wakeUp = createWakeUp();
    const waits = [wakeUp.wait(10_000), wakeUp.wait(10_000)];
    wakeUp.wake();
    expect(await Promise.all([...waits, wakeUp.wait(10_000)])).toEqual([true, true, true]);
    wakeUp.reset();
    expect(await wakeUp.wait(1)).toBe(false);
  });

  test("a wait ends when the signal aborts", async () => {
    const controller = new AbortController();
    const wait = createWakeUp().wait(10_000, controller.signal);
    controller.abort();
    expect(await wait).toBe(false);
    expect(await createWakeUp().wait(10_000, controller.signal)).toBe(false);
  });
});

describe("createAlarm", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("fires once, at the earliest time it was set to", () => {
    const onAlarm = vi.fn<() => void>();
    const alarm = createAlarm(onAlarm);
    for (const inMs of [300, 100, 200]) alarm.set(Date.now() + inMs);
    vi.advanceTimersByTime(99);
    expect(onAlarm).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1000);
    expect(onAlarm).toHaveBeenCalledOnce();
  });

  test("can be set again after it has fired", () => {
    const onAlarm = vi.fn<() => void>();
    const alarm = createAlarm(onAlarm);
    alarm.set(0);
    vi.advanceTimersByTime(1);
    alarm.set(Date.now() + 500);
    vi.advanceTimersByTime(500);
    expect(onAlarm).toHaveBeenCalledTimes(2);
  });

  test("a time beyond what a timer can wait does not fire at once", () => {
    const onAlarm = vi.fn<() => void>();
    createAlarm(onAlarm).set(Date.now() + 2 ** 40);
    vi.advanceTimersByTime(1_000_000);
    expect(onAlarm).not.toHaveBeenCalled();
  });

  test("does not fire after stop", () => {
    const onAlarm = vi.fn<() => void>();
    const alarm = createAlarm(onAlarm);
    alarm.set(Date.now() + 10);
    alarm.stop();
    alarm.set(Date.now() + 10);
    vi.advanceTimersByTime(100);
    expect(onAlarm).not.toHaveBeenCalled();
  });
});
