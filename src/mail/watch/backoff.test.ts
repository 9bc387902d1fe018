import { expect, test } from "vitest";
import { createBackoff } from "./backoff.ts";

test("doubles to a most, with at most a quarter more, and begins anew after a success", () => {
  const { next, reset } = createBackoff({ firstMs: 100, mostMs: 400 });
  const waits = [next(), next(), next(), next()];
  reset();
  waits.push(next());
  for (const [index, least] of [100, 200, 400, 400, 100].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(least);
    expect(waits[index]).toBeLessThanOrEqual(least * 1.25);
  }
});

test("what failed together does not come back together", () => {
  const waits = Array.from({ length: 50 }, () => createBackoff({ firstMs: 1000, mostMs: 1000 }).next());
  expect(new Set(waits).size).toBeGreaterThan(1);
});
