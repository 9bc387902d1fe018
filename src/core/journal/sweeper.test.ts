import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentTelemetry } from "../telemetry/telemetry.ts";
import { createSweeper, type Sweeper } from "./sweeper.ts";

let sweeper: Sweeper;
let bytes: number;
let sweeps: number;
let sweepMs: number;
/** How many of the next batches are followed by another. */
let more: number;
/** When each batch began. */
let begun: number[];

beforeEach(() => {
  vi.useFakeTimers();
  [bytes, sweeps, sweepMs, more, begun] = [0, 0, 0, 0, []];
  sweeper = createSweeper({
    journal: {
      lease: async (name) => ({ name, token: 1 }),
      async sweep() {
        sweeps += 1;
        begun.push(Date.now());
        if (sweepMs > 0) await new Promise((resolve) => setTimeout(resolve, sweepMs));
        more -= 1;
        return more >= 0;
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
  const first = sweeps;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(first).toBe(1);
});

test("after each batch comes a pause that is as long", async () => {
  [sweepMs, more] = [70, 3];
  await vi.advanceTimersByTimeAsync(2000);
  const [first = 0] = begun;
  expect(begun.map((at) => at - first)).toEqual([0, 140, 280, 420]);
});
