import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { sampleDelivery, sampleEvent, sampleOutcome, sampleRun } from "../../../test/contracts/journal/samples.ts";
import { type DispatchService, recorder, scripted, startDispatch } from "../../../test/support/dispatch.ts";
import type { Journal } from "../journal/journal.ts";
import { createSqliteJournal } from "../../stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../telemetry/telemetry.ts";

let service: DispatchService;
afterEach(() => service.close());

/** Without a heartbeat, which is a run as well. */
const quiet = { wakeMode: "next-heartbeat" } as const;

const claimRun = (journal: Journal) => journal.claimRuns(1, Date.now());
const claimDelivery = (journal: Journal) => journal.claimDeliveries(1, Date.now());

test("a run whose process ended in each attempt is dead without another attempt", async () => {
  const doomed = sampleRun("s", quiet);
  const next = sampleRun("s", { ...quiet, message: "next" });
  const folder = await leaveBehind((journal) => journal.accept(sampleEvent({ actions: [doomed, next] })));
  for (let attempts = 0; attempts < 23; attempts += 1) await crashAfter(claimRun, folder);

  const seen: string[] = [];
  const agent = scripted(({ message }) => {
    seen.push(message);
    return "ok";
  });
  service = await startDispatch({ agent, folder });
  await expect
    .poll(() => service.journal.listRuns({ limit: 1, state: "dead" }))
    .toMatchObject([{ id: doomed.runId, error: "the process ended during each of the last 20 attempts" }]);
  await expect.poll(() => service.journal.listRuns({ limit: 1, state: "done" })).toMatchObject([{ id: next.runId }]);
  expect(seen).toEqual([expect.stringContaining("next")]);
});

test.each([1, 22])("a run whose process ended %i times is retried", async (crashes) => {
  const folder = await leaveBehind((journal) => journal.accept(sampleEvent({ actions: [sampleRun("s", quiet)] })));
  for (let crash = 0; crash < crashes; crash += 1) await crashAfter(claimRun, folder);
  service = await startDispatch({ agent: scripted(() => "ok"), folder });
  await expect
    .poll(() => service.journal.listRuns({ limit: 1, state: "done" }))
    .toMatchObject([{ attempts: crashes + 1 }]);
});

test("a delivery whose process ended in each attempt fails without being sent again", async () => {
  const run = sampleRun("s");
  const delivery = sampleDelivery(run.runId);
  const folder = await leaveBehind(async (journal) => {
    await journal.accept(sampleEvent({ actions: [run] }));
    const [claimed] = await claimRun(journal);
    await journal.completeRun(claimed!, sampleOutcome({ deliveries: [delivery] }));
  });
  for (let attempts = 0; attempts < 28; attempts += 1) await crashAfter(claimDelivery, folder);

  const channel = recorder();
  service = await startDispatch({ agent: scripted(() => "ok"), channel, folder });
  await expect
    .poll(() => service.journal.listDeliveries({ limit: 1, state: "failed" }))
    .toMatchObject([{ id: delivery.id, error: "the process ended during each of the last 20 attempts" }]);
  expect(channel.sent).toEqual([]);
});

/** A state folder as a service leaves it. */
async function leaveBehind(work: (journal: Journal) => Promise<unknown>): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-crashes-"));
  await crashAfter(work, folder);
  return folder;
}

/** Closes instead of crashing: the next process finds the same unfinished work. */
async function crashAfter(work: (journal: Journal) => Promise<unknown>, folder: string): Promise<void> {
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  await work(journal);
  await journal.close();
}
