import { expect, test } from "vitest";
import { createBackoff } from "./backoff.ts";

test("doubles to a most, with at most a quarter more, and begins anew after a success", () => {
  const { next, reset } = createBackoff({ firstMs: 100, mostMs: 400 });
  for (const least of [100, 200, 400, 400]) expectWithin(next(), least);
  reset();
  expectWithin(next(), 100);
});

test("what failed together does not come back together", () => {
  const waits = Array.from({ length: 50 }, () => createBackoff({ firstMs: 1000, mostMs: 1000 }).next());
  expect(new Set(waits).size).toBeGreaterThan(1);
});

function expectWithin(waitMs: number, least: number): void {
  expect(waitMs).toBeGreaterThanOrEqual(least);
  expect(waitMs).toBeLessThanOrEqual(least * 1.25);
}
