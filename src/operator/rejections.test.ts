import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { HookError } from "../core/errors.ts";
import { createSqliteJournal } from "../stores/sqlite/sqlite.ts";
import { createId } from "../core/shared/id.ts";
import type { Log } from "../core/telemetry/log.ts";
import { silentTelemetry, withLog } from "../core/telemetry/telemetry.ts";
import { createRejectionLog } from "./rejections.ts";

const refused = new HookError("unauthorized");
const from = (client: string, headers: Record<string, string> = {}) => ({
  id: createId(),
  method: "POST",
  client,
  headers,
});

async function start(folder = makeFolder()) {
  const lines: unknown[] = [];
  const warn: Log["warn"] = (message, fields) => void lines.push([message, fields]);
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  let isOpen = true;
  const close = async (): Promise<void> => void (isOpen && ((isOpen = false), await journal.close()));
  onTestFinished(close);
  const log = createRejectionLog(withLog({ debug() {}, info() {}, warn, error() {} }), journal);
  return { lines, log, journal, close };
}

function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-rejections-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("500 are kept, and long names are cut", async () => {
  const { log } = await start();
  const headers = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-${index}-${"n".repeat(500)}`, "v"]));
  for (let index = 0; index < 600; index++)
    log.add(from(`192.0.2.${index}`, headers), `h${index}${"x".repeat(500)}`, refused);
  const kept = await log.list(1000);
  expect([kept.length, kept[0]?.client, kept.at(-1)?.client]).toEqual([500, "192.0.2.599", "192.0.2.100"]);
  expect(JSON.stringify(kept[0]).length).toBeLessThan(10_000);
});

test("a client that is refused again and again takes one place", async () => {
  const { log } = await start();
  log.add(from("192.0.2.1"), "a", refused);
  for (let index = 0; index < 600; index++) {
    log.add(from("192.0.2.2"), "b", refused, { reason: "wrong", isThrottled: true });
  }
  expect(await log.list(10)).toMatchObject([{ client: "192.0.2.2", repeated: 599 }, { client: "192.0.2.1" }]);
});

test("the log has a line a minute for each reason, with how many there were", async () => {
  const { log, lines } = await start();
  // Ids never go back: those of a future time would be in the future in all tests of this process.
  vi.useFakeTimers({ now: 0 });
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

test("after a restart the last 500 are there with how often they were repeated, and no more than these are stored", async () => {
  const folder = makeFolder();
  const before = await start(folder);
  for (let round = 0; round < 7; round++) {
    for (let index = 0; index < 100; index++) before.log.add(from(`192.0.${round}.${index}`), "a", refused);
    await before.log.close();
  }
  before.log.add(from("192.0.6.99"), "a", refused, { isThrottled: true });
  await before.log.close();
  await before.close();
  const after = await start(folder);
  after.log.add(from("198.51.100.1"), "b", refused);
  const kept = await after.log.list(1000);
  expect([kept.length, kept[0]?.client]).toEqual([500, "198.51.100.1"]);
  expect(kept.find(({ client }) => client === "192.0.6.99")).toMatchObject({ repeated: 1, hook: "a" });
  await after.log.close();
  expect(await after.journal.listNotes("rejection")).toHaveLength(500);
});

test("of a flood only the newest are saved", async () => {
  const { log, journal } = await start();
  for (let index = 0; index < 5000; index++) log.add(from(`192.0.2.${index}`), "a", refused);
  await log.close();
  const saved = (await journal.listNotes("rejection")).map(({ json }) => JSON.parse(json).client);
  expect([saved.length, saved.at(-1)]).toEqual([100, "192.0.2.4999"]);
});
