import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { Trial } from "../../operator/trial.ts";
import { formatTrial } from "./try.ts";

const log = [{ level: "warn", text: "low\nstock" }] as const;

test("says which mapping took it, how long it took, what was logged, what comes of it", () => {
  const action = { kind: "wake", text: "Order 7", mode: "now", allowUnsafeExternalContent: false } as const;
  expect(print({ ok: true, mapping: "m", actions: [action], warnings: [], log: [...log], durationMs: 1.26 }))
    .toBe(`✓ orders, mapping m 1.3 ms

warn: low
      stock

wake
  text: Order 7
  mode: now
  allowUnsafeExternalContent: false`);
});

test("says how the service would answer, and why", () => {
  const refusal = { status: 500, code: "transform_failed", error: "It failed.", detail: "Error: \u001b[2Jx" };
  expect(print({ ok: false, mapping: "m", ...refusal, log: [], durationMs: 0 }))
    .toBe(`✗ orders would be answered with 500 transform_failed, mapping m 0.0 ms

Error: \\u001b[2Jx`);
});

function print(trial: Trial): string {
  return stripVTControlCharacters(formatTrial("orders", trial).join("\n"));
}
