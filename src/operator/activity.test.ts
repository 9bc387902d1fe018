import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Journal } from "../core/journal/journal.ts";
import { createActivity } from "../core/telemetry/activity.ts";
import { silentTelemetry } from "../core/telemetry/telemetry.ts";
import { createSqliteJournal } from "../stores/sqlite/sqlite.ts";
import { createActivityLog } from "./activity.ts";

async function openJournal(): Promise<Journal> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-activity-"));
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  onTestFinished(async () => {
    await journal.close();
    rmSync(folder, { recursive: true });
  });
  return journal;
}

const MINUTE_MS = 60_000;
const ANSWER = { hook: "a", status: 200, ms: 4 };

test("counts of all processes are steps, and time without a process is a gap", async () => {
  const journal = await openJournal();
  const at = Date.now() - (Date.now() % (5 * MINUTE_MS)) - 120 * MINUTE_MS;
  await journal.addTallies([
    { at, mapping: "", what: "up", n: 1 },
    { at, mapping: "", what: "refused", n: 2 },
  ]);
  const activity = createActivity();
  const log = createActivityLog({ ...silentTelemetry, activity }, journal);
  activity.answered(ANSWER);
  activity.answered({ ...ANSWER, status: 404, ms: 10.4 });
  activity.rejected("no_such_hook");
  activity.turned({ result: "failed", ms: 5 });
  activity.recorded({ mapping: "m", status: "skipped", leftOutBy: "place" });
  const { steps, events, received } = await log.read("24h");
  const [first, ...others] = steps;
  expect(first).toMatchObject({ at: new Date(at).toISOString(), requests: 0, refused: 2 });
  // A request at the end of five minutes may be counted in the next.
  const sum = (name: "requests" | "clientErrors" | "totalMs" | "slowestMs" | "refused" | "failedTurns"): number =>
    others.reduce((total, step) => total + step[name], 0);
  expect(others.length).toBeLessThanOrEqual(2);
  expect([sum("requests"), sum("clientErrors"), sum("refused"), sum("failedTurns")]).toEqual([2, 1, 1, 1]);
  expect(sum("totalMs")).toBeGreaterThanOrEqual(14);
  expect({ events, received }).toMatchObject({ events: { refused: 3, done: 0 }, received: 3 });
  await log.close();
  expect((await createActivityLog({ ...silentTelemetry, activity }, journal).read("7d")).events.refused).toBe(3);
});

test("counts are those of the moment of the question, and questions at once are one read", async () => {
  const journal = await openJournal();
  let reads = 0;
  const countSince: Journal["countSince"] = (from) => {
    reads++;
    return journal.countSince(from);
  };
  const activity = createActivity();
  const log = createActivityLog({ ...silentTelemetry, activity }, { ...journal, countSince });
  await log.read("24h");
  activity.rejected("no_such_hook");
  const views = await Promise.all([log.read("24h"), log.read("24h"), log.read("24h")]);
  expect(views.map(({ received }) => received)).toEqual([1, 1, 1]);
  expect(reads).toBe(2);
});

test("what could not be written is written later, and nothing twice", async () => {
  const journal = await openJournal();
  const activity = createActivity();
  let isFull = true;
  const addTallies: Journal["addTallies"] = (tallies) =>
    isFull ? Promise.reject(new Error("the disk is full")) : journal.addTallies(tallies);
  const log = createActivityLog({ ...silentTelemetry, activity }, { ...journal, addTallies });
  for (let count = 0; count < 3; count++) {
    activity.answered(ANSWER);
    await log.close();
  }
  isFull = false;
  await log.close();
  await log.close();
  const { steps } = await log.read("1h");
  expect(steps.reduce((sum, { requests }) => sum + requests, 0)).toBe(3);
});
