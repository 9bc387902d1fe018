import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MailError } from "../../errors.ts";
import { createWatchRenewal } from "./watch.ts";

const { signal } = new AbortController();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

beforeEach(() => {
  vi.useFakeTimers({ now: 0, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function createWatch(days = 7): { request(): Promise<number>; asked: number[]; failure: MailError | undefined } {
  const watch = {
    asked: [] as number[],
    failure: undefined as MailError | undefined,
    async request() {
      watch.asked.push(Date.now());
      if (watch.failure) throw watch.failure;
      return Date.now() + days * DAY;
    },
  };
  return watch;
}

/** Calls `keep` once a minute. */
async function keepUntil(keep: () => Promise<boolean>, moment: number): Promise<void> {
  for (; Date.now() < moment; vi.setSystemTime(Date.now() + MINUTE)) await keep();
}

test("a watch is requested at once, and renewed once a day", async () => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  await keepUntil(() => renewal.keep(signal), 3 * DAY);
  expect(watch.asked).toEqual([0, DAY, 2 * DAY]);
});

test("a short watch is renewed after half of its time", async () => {
  const watch = createWatch(0.5);
  const renewal = createWatchRenewal(watch.request);
  await keepUntil(() => renewal.keep(signal), DAY);
  expect(watch.asked).toEqual([0, DAY / 4, DAY / 2, (DAY / 4) * 3]);
});

test("simultaneous calls share one request", async () => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  const kept = await Promise.all([renewal.keep(signal), renewal.keep(signal), renewal.keep(signal)]);
  expect(watch.asked).toHaveLength(1);
  expect(kept).toEqual([true, true, true]);
  expect(await renewal.keep(signal)).toBe(false);
});

test("a temporary failure is retried every ten minutes, and reported when the watch nearly ends", async () => {
  const watch = createWatch(2);
  const renewal = createWatchRenewal(watch.request);
  await renewal.keep(signal);
  watch.failure = new MailError("network", "Out of reach.");
  await expect(keepUntil(() => renewal.keep(signal), 3 * DAY)).rejects.toBe(watch.failure);
  expect(watch.asked.slice(1, 4)).toEqual([DAY, DAY + 10 * MINUTE, DAY + 20 * MINUTE]);
  expect(Date.now()).toBeGreaterThan(2 * DAY - HOUR);
  expect(Date.now()).toBeLessThan(2 * DAY);
});

test("returns to once a day after a success", async () => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  await renewal.keep(signal);
  watch.failure = new MailError("network", "Out of reach.");
  await keepUntil(() => renewal.keep(signal), DAY + MINUTE);
  watch.failure = undefined;
  await keepUntil(() => renewal.keep(signal), 3 * DAY);
  expect(watch.asked).toEqual([0, DAY, DAY + 10 * MINUTE, 2 * DAY + 10 * MINUTE]);
});

test.each(["login", "gone"] as const)("a refusal is reported at once: %s", async (kind) => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  await renewal.keep(signal);
  watch.failure = new MailError(kind, "No.");
  await expect(keepUntil(() => renewal.keep(signal), 2 * DAY)).rejects.toBe(watch.failure);
  expect(watch.asked).toEqual([0, DAY]);
});

test("any failure is reported while no watch is known", async () => {
  const watch = createWatch();
  watch.failure = new MailError("network", "Out of reach.");
  await expect(createWatchRenewal(watch.request).keep(signal)).rejects.toBe(watch.failure);
});
