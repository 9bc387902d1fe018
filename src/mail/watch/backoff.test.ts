import { describe, afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBackoff, createPatience } from "./backoff.ts";

describe("backoff", () => {
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
});

describe("patience", () => {
  const WAITS = {
    passing: { firstMs: 1000, mostMs: 120_000 },
    lasting: { firstMs: 300_000, mostMs: 3_600_000 },
  };
  let time = 0;
  beforeEach(() => {
    // Chance adds to each wait.
    vi.spyOn(Math, "random").mockReturnValue(0);
  });
  afterEach(() => void vi.restoreAllMocks());

  const create = () => createPatience(WAITS, () => time);

  test("a mailbox that is not reached is left alone for longer and longer", () => {
    const patience = create();
    const waits = Array.from({ length: 9 }, () => patience.lost("network"));
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000]);
  });

  test("one that lets in and throws out at once, for ten seconds at most", () => {
    const patience = create();
    expect(letIn(patience, 6)).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
  });

  test("one that gave a mail is asked again soon", () => {
    const patience = create();
    letIn(patience, 6);
    patience.gave(1);
    expect([patience.lost("network")]).toEqual([1000]);
  });

  test("one that held for a minute is asked again soon", () => {
    const patience = create();
    letIn(patience, 6);
    patience.gave(0);
    time += 60_000;
    expect([patience.lost("network"), ...letIn(patience, 1)]).toEqual([1000, 2000]);
  });

  test("one that was not reached for long, and then is, is not waited for long", () => {
    const patience = create();
    for (let failures = 0; failures < 9; failures += 1) patience.lost("network");
    expect(letIn(patience, 1)).toEqual([1000]);
    expect([patience.lost("network")]).toEqual([1000]);
  });

  test("what an operator must mend has waits of its own", () => {
    const patience = create();
    const states = ["login-refused", "tls-failed", "mailbox-gone"] as const;
    expect(states.map(patience.lost)).toEqual([300_000, 600_000, 1_200_000]);
    patience.gave(0);
    expect([patience.lost("login-refused")]).toEqual([300_000]);
  });

  /** So many connections that come about, give nothing and are lost: the waits after them. */
  function letIn(patience: ReturnType<typeof create>, times: number): number[] {
    return Array.from({ length: times }, () => {
      patience.gave(0);
      return patience.lost("network");
    });
  }
});
