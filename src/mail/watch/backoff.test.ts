import { describe, afterEach, beforeEach, expect, test, vi } from "vitest";
import { createReconnectBackoff } from "./watch.ts";

describe("createReconnectBackoff", () => {
  const WAITS = {
    transient: { firstMs: 1000, maxMs: 120_000 },
    operator: { firstMs: 300_000, maxMs: 3_600_000 },
  };
  let time = 0;
  beforeEach(() => {
    // Half of each wait is random.
    vi.spyOn(Math, "random").mockReturnValue(1);
  });
  afterEach(() => void vi.restoreAllMocks());

  const create = () => createReconnectBackoff(WAITS, () => time);

  test("an unreachable mailbox is tried less and less often", () => {
    const backoff = create();
    const waits = Array.from({ length: 9 }, () => backoff.lost("network"));
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000]);
  });

  test("a mailbox that drops each connection at once is tried every ten seconds at least", () => {
    const backoff = create();
    expect(dropConnections(backoff, 6)).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000]);
  });

  test("after a connection that gave a mail the wait is short", () => {
    const backoff = create();
    dropConnections(backoff, 6);
    backoff.received(1, 0);
    backoff.processed(1);
    expect([backoff.lost("network")]).toEqual([1000]);
  });

  test("after a connection that lasted a minute the wait is short", () => {
    const backoff = create();
    dropConnections(backoff, 6);
    backoff.received(0, 0);
    time += 60_000;
    expect([backoff.lost("network"), ...dropConnections(backoff, 1)]).toEqual([1000, 2000]);
  });

  test("after a long outage a connection resets the waits", () => {
    const backoff = create();
    for (let failures = 0; failures < 9; failures += 1) backoff.lost("network");
    expect(dropConnections(backoff, 1)).toEqual([1000]);
    expect([backoff.lost("network")]).toEqual([1000]);
  });

  test("problems for the operator have their own waits", () => {
    const backoff = create();
    const states = ["login-refused", "tls-failed", "mailbox-gone"] as const;
    expect(states.map((state) => backoff.lost(state))).toEqual([300_000, 600_000, 1_200_000]);
    backoff.received(0, 0);
    expect([backoff.lost("login-refused")]).toEqual([300_000]);
  });

  test("a mailbox is stuck if mails wait, and connection after connection gives none", () => {
    const backoff = create();
    const lose = (mails: number, remaining: number): boolean => {
      backoff.received(mails, remaining);
      backoff.processed(mails);
      backoff.lost("network");
      return backoff.isStuck();
    };
    expect(Array.from({ length: 7 }, () => lose(0, 1))).toEqual([false, false, false, false, false, true, true]);
    expect([lose(1, 5), ...Array.from({ length: 5 }, () => lose(0, 5))].at(-1)).toBe(true);
    expect(lose(0, 0)).toBe(false);
    expect(Array.from({ length: 9 }, () => backoff.lost("network") && backoff.isStuck()).at(-1)).toBe(false);
  });

  test("a mailbox is stuck if its mails come, and cannot be processed", () => {
    const backoff = create();
    for (let failures = 0; failures < 6; failures += 1) {
      backoff.received(3, 0);
      backoff.lost("network");
    }
    expect(backoff.isStuck()).toBe(true);
  });

  test("a mailbox is stuck if its source fails in a way that it does not know", () => {
    const backoff = create();
    for (let failures = 0; failures < 6; failures += 1) backoff.lost("network", { isUnknown: true });
    expect(backoff.isStuck()).toBe(true);
  });

  /** The waits after connections that open, give nothing and are lost. */
  function dropConnections(backoff: ReturnType<typeof create>, times: number): number[] {
    return Array.from({ length: times }, () => {
      backoff.received(0, 0);
      return backoff.lost("network");
    });
  }
});
