import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MailError } from "../../errors.ts";
import { createWatchRenewal, type RequestWatch } from "./watch.ts";

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

function createWatch(days = 7): { request: RequestWatch; asked: number[]; failure: MailError | undefined } {
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

/** Asks once a minute until then. */
async function keepUntil(keep: () => Promise<boolean>, moment: number): Promise<void> {
  for (; Date.now() < moment; vi.setSystemTime(Date.now() + MINUTE)) await keep();
}

test("a watch is asked for at once, and renewed once a day", async () => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  await keepUntil(() => renewal.keep(signal), 3 * DAY);
  expect(watch.asked).toEqual([0, DAY, 2 * DAY]);
});

test("one that ends sooner is renewed when half of it is over", async () => {
  const watch = createWatch(0.5);
  const renewal = createWatchRenewal(watch.request);
  await keepUntil(() => renewal.keep(signal), DAY);
  expect(watch.asked).toEqual([0, DAY / 4, DAY / 2, (DAY / 4) * 3]);
});

test("all who ask at once share one request", async () => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  const kept = await Promise.all([renewal.keep(signal), renewal.keep(signal), renewal.keep(signal)]);
  expect(watch.asked).toHaveLength(1);
  expect(kept).toEqual([true, true, true]);
  expect(await renewal.keep(signal)).toBe(false);
});

test("a failure that may pass is tried again later and later while the watch holds, and told when it nearly ends", async () => {
  const watch = createWatch(2);
  const renewal = createWatchRenewal(watch.request);
  await renewal.keep(signal);
  watch.failure = new MailError("network", "Out of reach.");
  await expect(keepUntil(() => renewal.keep(signal), 3 * DAY)).rejects.toBe(watch.failure);
  const waits = watch.asked.slice(2).map((at, index) => at - (watch.asked[index + 1] ?? 0));
  expect(waits.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((minutes) => minutes * MINUTE));
  expect(Date.now()).toBeGreaterThan(2 * DAY - 2 * HOUR);
  expect(Date.now()).toBeLessThan(2 * DAY);
});

test("it goes on as before once it succeeds", async () => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  await renewal.keep(signal);
  watch.failure = new MailError("network", "Out of reach.");
  await keepUntil(() => renewal.keep(signal), DAY + MINUTE);
  watch.failure = undefined;
  await keepUntil(() => renewal.keep(signal), 3 * DAY);
  expect(watch.asked).toEqual([0, DAY, DAY + MINUTE, 2 * DAY + MINUTE]);
});

test.each(["login", "gone"] as const)("a refusal is told at once: %s", async (kind) => {
  const watch = createWatch();
  const renewal = createWatchRenewal(watch.request);
  await renewal.keep(signal);
  watch.failure = new MailError(kind, "No.");
  await expect(keepUntil(() => renewal.keep(signal), 2 * DAY)).rejects.toBe(watch.failure);
  expect(watch.asked).toEqual([0, DAY]);
});

test("so is any failure while it is not known whether there is a watch", async () => {
  const watch = createWatch();
  watch.failure = new MailError("network", "Out of reach.");
  await expect(createWatchRenewal(watch.request).keep(signal)).rejects.toBe(watch.failure);
});
