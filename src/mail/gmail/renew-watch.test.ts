import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MailError } from "../../core/errors.ts";
import { createWatchRenewal } from "./gmail.ts";

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

function createWatch(days = 7): { request(): Promise<number>; requests: number[]; failure: MailError | undefined } {
  const watch = {
    requests: [] as number[],
    failure: undefined as MailError | undefined,
    async request() {
      watch.requests.push(Date.now());
      if (watch.failure) throw watch.failure;
      return Date.now() + days * DAY;
    },
  };
  return watch;
}

/** Calls `renew` once a minute. */
async function renewUntil(renew: () => Promise<boolean>, moment: number): Promise<void> {
  for (; Date.now() < moment; vi.setSystemTime(Date.now() + MINUTE)) await renew();
}

test("a watch is requested at once, and renewed once a day", async () => {
  const watch = createWatch();
  const renewWatch = createWatchRenewal(watch.request);
  await renewUntil(() => renewWatch(signal), 3 * DAY);
  expect(watch.requests).toEqual([0, DAY, 2 * DAY]);
});

test("a short watch is renewed after half of its time", async () => {
  const watch = createWatch(0.5);
  const renewWatch = createWatchRenewal(watch.request);
  await renewUntil(() => renewWatch(signal), DAY);
  expect(watch.requests).toEqual([0, DAY / 4, DAY / 2, (DAY / 4) * 3]);
});

test("simultaneous calls share one request", async () => {
  const watch = createWatch();
  const renewWatch = createWatchRenewal(watch.request);
  const renewed = await Promise.all([renewWatch(signal), renewWatch(signal), renewWatch(signal)]);
  expect(watch.requests).toHaveLength(1);
  expect(renewed).toEqual([true, true, true]);
  expect(await renewWatch(signal)).toBe(false);
});

test("a temporary failure is retried every ten minutes, and reported when the watch nearly ends", async () => {
  const watch = createWatch(2);
  const renewWatch = createWatchRenewal(watch.request);
  await renewWatch(signal);
  watch.failure = new MailError("network", "Out of reach.");
  await expect(renewUntil(() => renewWatch(signal), 3 * DAY)).rejects.toBe(watch.failure);
  expect(watch.requests.slice(1, 4)).toEqual([DAY, DAY + 10 * MINUTE, DAY + 20 * MINUTE]);
  expect(Date.now()).toBeGreaterThan(2 * DAY - HOUR);
  expect(Date.now()).toBeLessThan(2 * DAY);
});

test("returns to once a day after a success", async () => {
  const watch = createWatch();
  const renewWatch = createWatchRenewal(watch.request);
  await renewWatch(signal);
  watch.failure = new MailError("network", "Out of reach.");
  await renewUntil(() => renewWatch(signal), DAY + MINUTE);
  watch.failure = undefined;
  await renewUntil(() => renewWatch(signal), 3 * DAY);
  expect(watch.requests).toEqual([0, DAY, DAY + 10 * MINUTE, 2 * DAY + 10 * MINUTE]);
});

test.each(["login", "gone"] as const)("a refusal is reported at once: %s", async (kind) => {
  const watch = createWatch();
  const renewWatch = createWatchRenewal(watch.request);
  await renewWatch(signal);
  watch.failure = new MailError(kind, "No.");
  await expect(renewUntil(() => renewWatch(signal), 2 * DAY)).rejects.toBe(watch.failure);
  expect(watch.requests).toEqual([0, DAY]);
});

test("any failure is reported while no watch is known", async () => {
  const watch = createWatch();
  watch.failure = new MailError("network", "Out of reach.");
  await expect(createWatchRenewal(watch.request)(signal)).rejects.toBe(watch.failure);
});
