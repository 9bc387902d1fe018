import { expect, test } from "vitest";
import { createPatience } from "./patience.ts";

const WAITS = {
  passing: { firstMs: 1000, mostMs: 120_000 },
  lasting: { firstMs: 300_000, mostMs: 3_600_000 },
};
let time = 0;
const create = () => createPatience(WAITS, () => time);

test("a mailbox that is not reached is left alone for longer and longer", () => {
  const patience = create();
  const waits = Array.from({ length: 9 }, () => patience.lost("network"));
  expectAbout(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000]);
});

test("one that lets in and throws out at once, for ten seconds at most", () => {
  const patience = create();
  expectAbout(letIn(patience, 6), [1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("one that gave a mail is asked again soon", () => {
  const patience = create();
  letIn(patience, 6);
  patience.gave(1);
  expectAbout([patience.lost("network")], [1000]);
});

test("one that held for a minute is asked again soon", () => {
  const patience = create();
  letIn(patience, 6);
  patience.gave(0);
  time += 60_000;
  expectAbout([patience.lost("network"), ...letIn(patience, 1)], [1000, 2000]);
});

test("one that was not reached for long, and then is, is not waited for long", () => {
  const patience = create();
  for (let failures = 0; failures < 9; failures += 1) patience.lost("network");
  expectAbout(letIn(patience, 1), [1000]);
  expectAbout([patience.lost("network")], [1000]);
});

test("what an operator must mend has waits of its own", () => {
  const patience = create();
  const states = ["login-refused", "tls-failed", "mailbox-gone"] as const;
  expectAbout(states.map(patience.lost), [300_000, 600_000, 1_200_000]);
  patience.gave(0);
  expectAbout([patience.lost("login-refused")], [300_000]);
});

/** So many connections that come about, give nothing and are lost: the waits after them. */
function letIn(patience: ReturnType<typeof create>, times: number): number[] {
  return Array.from({ length: times }, () => {
    patience.gave(0);
    return patience.lost("network");
  });
}

/** Chance adds up to a quarter. */
function expectAbout(waits: number[], expected: number[]): void {
  expect(waits).toHaveLength(expected.length);
  for (const [index, least] of expected.entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(least);
    expect(waits[index]).toBeLessThanOrEqual(least * 1.25);
  }
}
