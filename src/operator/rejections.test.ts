import { expect, test, vi } from "vitest";
import { HookError } from "../errors.ts";
import type { Log } from "../telemetry/log.ts";
import { withLog } from "../telemetry/telemetry.ts";
import { createRejectionLog } from "./rejections.ts";

const refused = new HookError("unauthorized");
const from = (client: string, headers: Record<string, string> = {}) => ({ id: "r-1", method: "POST", client, headers });

function start() {
  const lines: unknown[] = [];
  const warn: Log["warn"] = (message, fields) => void lines.push([message, fields]);
  return { lines, log: createRejectionLog(withLog({ debug() {}, info() {}, warn, error() {} })) };
}

test("500 are kept, and long names are cut", () => {
  const { log } = start();
  const headers = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-${index}-${"n".repeat(500)}`, "v"]));
  for (let index = 0; index < 600; index++)
    log.add(from(`192.0.2.${index}`, headers), `h${index}${"x".repeat(500)}`, refused);
  const kept = log.list(1000);
  expect([kept.length, kept[0]?.client, kept.at(-1)?.client]).toEqual([500, "192.0.2.599", "192.0.2.100"]);
  expect(JSON.stringify(kept[0]).length).toBeLessThan(10_000);
});

test("a client that is refused again and again takes one place", () => {
  const { log } = start();
  log.add(from("192.0.2.1"), "a", refused);
  for (let index = 0; index < 600; index++) {
    log.add(from("192.0.2.2"), "b", refused, { reason: "wrong", isThrottled: true });
  }
  expect(log.list(10)).toMatchObject([{ client: "192.0.2.2", repeated: 599 }, { client: "192.0.2.1" }]);
});

test("the log has a line a minute for each reason, with how many there were", () => {
  vi.useFakeTimers();
  const { log, lines } = start();
  for (let index = 0; index < 5; index++) log.add(from("192.0.2.1"), "a", refused, { reason: "wrong" });
  log.add(from("192.0.2.1"), "b", refused, { reason: "missing" });
  const line = (fields: object) => ["requests refused", expect.objectContaining(fields)];
  expect(lines).toEqual([line({ reason: "wrong", count: 1, hook: "a" }), line({ reason: "missing", count: 1 })]);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(2)).toEqual([line({ reason: "wrong", count: 4 })]);
  vi.advanceTimersByTime(120_000);
  log.add(from("192.0.2.1"), "a", refused, { reason: "wrong" });
  expect(lines.slice(3)).toEqual([line({ reason: "wrong", count: 1 })]);
  vi.useRealTimers();
});
