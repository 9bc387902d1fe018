import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentTelemetry } from "../telemetry/telemetry.ts";
import { createSweeper, type Sweeper } from "./sweeper.ts";

let sweeper: Sweeper;
let bytes: number;
let sweeps: number;
let sweepMs: number;

beforeEach(() => {
  vi.useFakeTimers();
  [bytes, sweeps, sweepMs] = [0, 0, 0];
  sweeper = createSweeper({
    journal: {
      lease: async (name) => ({ name, token: 1 }),
      async sweep() {
        sweeps += 1;
        if (sweepMs > 0) await new Promise((resolve) => setTimeout(resolve, sweepMs));
        return false;
      },
      usedBytes: async () => bytes,
    },
    retention: () => ({ maxAgeMs: 1, dedupeWindowMs: 1, maxBytes: 1000, maxKeys: 1 }),
    log: silentTelemetry.log,
  });
  sweeper.start();
});
afterEach(async () => {
  await sweeper.stop();
  vi.useRealTimers();
});

test("a journal over its size is swept once it has grown by a tenth, not only every five minutes", async () => {
  const sweepsAfter = async (size: number, ms: number): Promise<number> => {
    bytes = size;
    await vi.advanceTimersByTimeAsync(ms);
    return sweeps;
  };
  expect(await sweepsAfter(0, 1000)).toBe(1);
  expect(await sweepsAfter(999, 60_000)).toBe(1);
  expect(await sweepsAfter(1050, 10_000)).toBe(2);
  // The rest is unfinished work.
  expect(await sweepsAfter(1100, 60_000)).toBe(2);
  expect(await sweepsAfter(1151, 10_000)).toBe(3);
});

test("a journal that grows while it is swept is not swept a second time at once", async () => {
  [bytes, sweepMs] = [2000, 20_000];
  await vi.advanceTimersByTimeAsync(19_000);
  const begun = sweeps;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(begun).toBe(1);
});
