import { mkdtempSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { copyState } from "../../../test/contracts/journal/harness.ts";
import { sampleDelivery, sampleEvent, sampleOutcome, sampleRun } from "../../../test/contracts/journal/samples.ts";
import { type DispatchService, recorder, scripted, startDispatch } from "../../../test/support/dispatch.ts";
import { createGate } from "../../../test/support/gate.ts";
import type { Journal } from "../journal/journal.ts";
import { createSqliteJournal } from "../../stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../telemetry/telemetry.ts";

let service: DispatchService;
afterEach(() => service.close());

/** Without a heartbeat, which is a run as well. */
const quiet = { wakeMode: "next-heartbeat" } as const;

const claimRuns = (journal: Journal) => journal.claimRuns(9, Date.now());
const claimDeliveries = (journal: Journal) => journal.claimDeliveries(9, Date.now());

test("runs that were in progress when the process ended three times are executed alone, after all others", async () => {
  const suspects = ["a", "b"].map((session) => sampleRun(session, { ...quiet, message: `suspect ${session}` }));
  const others = ["c", "d"].map((session) => sampleRun(session, { ...quiet, message: `other ${session}` }));
  let folder = await killAfter((journal) => journal.accept(sampleEvent({ actions: suspects })));
  for (let kills = 0; kills < 3; kills += 1) folder = await killAfter(claimRuns, folder);
  folder = await killAfter((journal) => journal.accept(sampleEvent({ actions: others })), folder);

  const running = new Set<string>();
  const seen: string[] = [];
  const othersEnd = createGate();
  const agent = scripted(async ({ message }) => {
    const [name = ""] = /(?:suspect|other) \w/.exec(message) ?? [];
    running.add(name);
    seen.push([...running].toSorted().join(", "));
    if (name.startsWith("other")) await othersEnd.passed;
    running.delete(name);
    return "ok";
  });
  service = await startDispatch({ agent, folder });
  await expect.poll(() => running.size).toBe(2);
  // Everything that was due is in progress: the first suspect is next.
  await service.accept({ message: "other e" });
  othersEnd.open();
  await expect.poll(() => service.journal.listRuns({ limit: 9, state: "done" })).toHaveLength(5);
  expect(seen.filter((each) => each.includes("suspect"))).toEqual(["suspect a", "suspect b"]);
  expect(seen.at(-1)).toBe("suspect b");
});

test("a run whose process ended more often than it has attempts is retried, and its failures count from the first", async () => {
  let folder = await killAfter((journal) => journal.accept(sampleEvent({ actions: [sampleRun("s", quiet)] })));
  for (let kills = 0; kills < 2; kills += 1) folder = await killAfter(claimRuns, folder);
  let asked = 0;
  const agent = scripted(() => {
    asked += 1;
    if (asked === 1) throw new Error("busy");
    return "ok";
  });
  service = await startDispatch({ agent, folder, settings: { maxAttempts: 2 } });
  await expect.poll(() => service.journal.listRuns({ limit: 1, state: "done" })).toMatchObject([{ attempts: 2 }]);
});

test("a run that has ended the process each time that it was alone is dead, and the next of its session runs", async () => {
  const doomed = sampleRun("s", quiet);
  const next = sampleRun("s", { ...quiet, message: "next" });
  const folder = await endAlone((journal) => journal.accept(sampleEvent({ actions: [doomed, next] })), claimRuns);

  const seen: string[] = [];
  const agent = scripted(({ message }) => {
    seen.push(message);
    return "ok";
  });
  service = await startDispatch({ agent, folder });
  const error = "the process ended each of the 3 times that this was executed alone";
  await expect
    .poll(() => service.journal.listRuns({ limit: 1, state: "dead" }))
    .toMatchObject([{ id: doomed.runId, error }]);
  await expect.poll(() => service.journal.listRuns({ limit: 1, state: "done" })).toMatchObject([{ id: next.runId }]);
  expect(seen).toEqual([expect.stringContaining("next")]);
});

test("a run is executed again if the process ends as often without it", async () => {
  const run = sampleRun("s", quiet);
  const folder = await endAlone(
    (journal) => journal.accept(sampleEvent({ actions: [run] })),
    claimRuns,
    (database) => {
      const insert = database.prepare("INSERT INTO lives VALUES (?, ?, ?, NULL, 'ended')");
      for (let life = 0; life < 1500; life += 1) {
        const startedAt = Date.now() - 7_100_000 + life * 4500;
        insert.run(`life-${life}`, startedAt, startedAt + 4500);
      }
    },
  );
  service = await startDispatch({ agent: scripted(() => "ok"), folder });
  await expect.poll(() => service.journal.listRuns({ limit: 1, state: "done" })).toMatchObject([{ id: run.runId }]);
});

test("a delivery that has ended the process each time that it was alone fails without being sent again", async () => {
  const run = sampleRun("s");
  const delivery = sampleDelivery(run.runId);
  const folder = await endAlone(async (journal) => {
    await journal.accept(sampleEvent({ actions: [run] }));
    const [claimed] = await claimRuns(journal);
    await journal.completeRun(claimed!, sampleOutcome({ deliveries: [delivery] }));
  }, claimDeliveries);

  const channel = recorder();
  service = await startDispatch({ agent: scripted(() => "ok"), channel, folder });
  await expect
    .poll(() => service.journal.listDeliveries({ limit: 1, state: "failed" }))
    .toMatchObject([{ id: delivery.id, error: expect.stringContaining("executed alone") }]);
  expect(channel.sent).toEqual([]);
});

test("an alert is raised when the process ends again and again without a suspect", async () => {
  let folder = await killAfter(async () => {});
  for (let kills = 0; kills < 4; kills += 1) folder = await killAfter(async () => {}, folder);
  const told: number[] = [];
  service = await startDispatch({ agent: scripted(() => "ok"), folder, restarting: (times) => told.push(times) });
  await expect.poll(() => told).toEqual([5]);
});

/** The folder that a process leaves which is killed after this work. */
async function killAfter(work: (journal: Journal) => Promise<unknown>, from?: string): Promise<string> {
  const folder = from ?? mkdtempSync(path.join(tmpdir(), "hookline-crashes-"));
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  await work(journal);
  const copy = copyState(folder);
  await journal.close();
  return copy;
}

/**
 * The process was killed during three attempts at some work, then during three at it alone. All of this was two hours ago; since
 * then a process has lived. `change`: what else has happened.
 */
async function endAlone(
  begin: (journal: Journal) => Promise<unknown>,
  claim: (journal: Journal) => Promise<unknown>,
  change: (database: DatabaseSync) => void = () => {},
): Promise<string> {
  let folder = await killAfter(begin);
  for (let kills = 0; kills < 3; kills += 1) folder = await killAfter(claim, folder);
  for (let kills = 0; kills < 3; kills += 1) {
    const isClaimed = async (journal: Journal) =>
      expect(await journal.claimSuspect(Date.now() + 3_600_000)).toBeDefined();
    folder = await killAfter(isClaimed, folder);
  }
  // The next process notices the last of them.
  folder = await killAfter(async () => {}, folder);
  const database = new DatabaseSync(path.join(folder, "journal.db"));
  for (const table of ["runs", "deliveries"]) {
    database.exec(`UPDATE ${table} SET interrupted_at = interrupted_at - 7200000, not_before = NULL`);
  }
  database.exec("UPDATE lives SET started_at = started_at - 7200000, seen_at = seen_at - 7200000");
  database.exec(`INSERT INTO lives VALUES ('quiet', ${Date.now() - 7_100_000}, ${Date.now()}, NULL, 'over')`);
  change(database);
  database.close();
  return folder;
}
