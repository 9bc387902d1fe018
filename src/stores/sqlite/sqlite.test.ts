import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { describeQueue, describeRecords } from "../../../test/contracts/journal.ts";
import { useJournals } from "../../../test/contracts/journal/harness.ts";
import { open } from "../../../test/contracts/journal/openers/sqlite.ts";
import { HOUR_MS } from "../../core/shared/time.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import {
  NOW,
  sampleDelivery,
  sampleEvent,
  sampleOutcome,
  sampleRun,
  sweepAll,
} from "../../../test/contracts/journal/samples.ts";
import { createSqliteJournal } from "./sqlite.ts";

const opener = new URL("../../../test/contracts/journal/openers/sqlite.ts", import.meta.url);
const sqlite = { open, opener, hasNodes: false, hasSizeLimit: true, isSlow: false };
describeQueue("SQLite", sqlite);
describeRecords("SQLite", sqlite);

describe("the SQLite file", () => {
  // The usual tests copy one.
  const { start, folder } = useJournals((at) => createSqliteJournal({ folder: at, telemetry: silentTelemetry }));

  test("is in a private folder", async () => {
    const at = path.join(folder(), "state", "deep");
    await start(at);
    expect(statSync(at).mode & 0o777).toBe(0o700);
  });

  test("is readable by its owner alone, with those beside it, in a folder that everyone can read", async () => {
    const at = folder();
    chmodSync(at, 0o755);
    const journal = await start(at);
    await journal.accept(sampleEvent());
    const modes = readdirSync(at).map((name) => [name, statSync(path.join(at, name)).mode & 0o777]);
    expect(Object.fromEntries(modes)).toMatchObject({ "journal.db": 0o600, "journal.db-wal": 0o600 });
    expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([]);
  });

  test("is in WAL mode, and other processes can read it", async () => {
    const at = folder();
    const journal = await start(at);
    await journal.accept(sampleEvent());
    using reader = new DatabaseSync(path.join(at, "journal.db"), { readOnly: true });
    expect(reader.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(reader.prepare("SELECT count(*) AS count FROM events").get()).toEqual({ count: 1 });
  });

  test("that another process locks is unavailable, and recovers", async () => {
    const at = folder();
    const journal = await start(at);
    using other = new DatabaseSync(path.join(at, "journal.db"));
    other.exec("BEGIN EXCLUSIVE");
    const refused = await Promise.allSettled([
      journal.accept(sampleEvent()),
      journal.claimRuns(1, NOW),
      journal.probe(),
    ]);
    expect(refused.map((result) => result.status === "rejected" && result.reason.name)).toEqual(
      Array.from({ length: 3 }, () => "JournalUnavailable"),
    );
    expect(await journal.stats()).toMatchObject({ events: 0 });

    other.exec("ROLLBACK");
    await journal.probe();
    expect(await journal.accept(sampleEvent())).toMatchObject({ kind: "committed" });
  });

  test("has one owner at a time", async () => {
    const at = folder();
    const first = await start(at);
    await expect(open(at)).rejects.toMatchObject({
      name: "ConfigError",
      problems: [{ key: "store.path", message: expect.stringContaining("another process owns this state folder") }],
    });
    await first.close();
    expect(await (await start(at)).stats()).toMatchObject({ events: 0 });
  });

  test("of an earlier process: its work is returned to the queue, attempts and sent parts kept", async () => {
    const at = folder();
    const { run, delivery } = await leaveWork(at);
    const journal = await start(at);
    expect(await journal.claimRuns(10, NOW)).toMatchObject([{ id: run, attempts: 2 }]);
    expect(await journal.claimDeliveries(10, NOW + 10)).toMatchObject([{ id: delivery, attempts: 2, partsSent: 1 }]);
    // A clean stop is no interruption and no failure.
    expect((await journal.getRun(run))?.failedAttempts).toBeUndefined();
  });

  test("whose folder was removed or replaced is unavailable, until the folder is back", async () => {
    const at = path.join(folder(), "state");
    const journal = await start(at);
    const isUnavailable = (): Promise<void> =>
      expect(journal.accept(sampleEvent())).rejects.toMatchObject({
        name: "JournalUnavailable",
        message: expect.stringContaining("was removed or replaced"),
      });
    renameSync(at, `${at} away`);
    await isUnavailable();
    await (await open(at)).close();
    await isUnavailable();
    rmSync(at, { recursive: true });
    renameSync(`${at} away`, at);
    await journal.accept(sampleEvent());
    expect(await journal.stats()).toMatchObject({ events: 1 });
  });

  test("whose folder cannot be read is unavailable, until it can be", async () => {
    const at = path.join(folder(), "state");
    const journal = await start(at);
    renameSync(at, `${at} away`);
    // A loop of links is an error of the file system that is neither "no such file" nor a permission.
    symlinkSync(at, at);
    await expect(journal.accept(sampleEvent())).rejects.toMatchObject({ name: "JournalUnavailable" });
    // The lock is checked every second. An error in that timer, which is due before this one, would end the process.
    await sleep(1100);
    rmSync(at);
    renameSync(`${at} away`, at);
    await journal.accept(sampleEvent());
    expect(await journal.stats()).toMatchObject({ events: 1 });
  });

  test("whose owner.lock was removed is locked again", async () => {
    const at = folder();
    await start(at);
    const file = path.join(at, "owner.lock");
    rmSync(file);
    await expect.poll(() => existsSync(file), { timeout: 10_000 }).toBe(true);
    await expect(open(at)).rejects.toThrow("another process owns this state folder");
  });

  test("whose folder another process has taken over is unavailable", async () => {
    const at = folder();
    const journal = await start(at);
    rmSync(path.join(at, "owner.lock"));
    const other = await start(at);
    const probe = (): Promise<unknown> => journal.probe().catch((error: unknown) => String(error));
    await expect.poll(probe, { timeout: 10_000 }).toContain("another process has taken over the state folder");
    await other.probe();
  });

  test("of a newer version is refused and not changed", async () => {
    const at = folder();
    await (await start(at)).close();
    const file = path.join(at, "journal.db");
    using later = new DatabaseSync(file);
    later.exec("PRAGMA user_version = 1000");
    later.close();
    const before = readFileSync(file);

    await expect(open(at)).rejects.toMatchObject({
      name: "ConfigError",
      problems: [{ file, message: expect.stringContaining("schema version 1000") }],
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("shrinks when events are deleted", async () => {
    const at = folder();
    const journal = await start(at);
    const events = Array.from({ length: 100 }, () => sampleEvent({ status: "skipped", actions: [] }));
    for (const event of events) event.request.body = Buffer.alloc(20_000);
    await Promise.all(events.map((event) => journal.accept(event)));
    await sweepAll(journal, { now: NOW + 1, keepFrom: NOW + 1 });
    await journal.close();
    expect(statSync(path.join(at, "journal.db")).size).toBeLessThan(1_000_000);
  });

  test("that is not a database is refused by name", async () => {
    const at = folder();
    const file = path.join(at, "journal.db");
    writeFileSync(file, "hello, ".repeat(1000));
    await expect(open(at)).rejects.toMatchObject({ name: "ConfigError", problems: [{ file }] });
  });
});

describe("after the clock was set back", () => {
  const { start } = useJournals(open);
  const now = Date.now();
  const ahead = now + HOUR_MS;

  test("a run that was tried before is due", async () => {
    const journal = await start();
    await journal.accept(sampleEvent({ receivedAt: now, actions: [sampleRun("a")] }));
    const [run] = await journal.claimRuns(1, ahead);
    await journal.retryRun(run!, ahead + 1000, "busy");
    expect(await journal.nextDueAt()).toBeLessThanOrEqual(now);
    expect(await journal.claimRuns(1, now)).toMatchObject([{ attempts: 2 }]);
  });

  test("a delivery that was tried before is due", async () => {
    const journal = await start();
    await journal.accept(sampleEvent({ receivedAt: now, actions: [sampleRun("a")] }));
    const [run] = await journal.claimRuns(1, now);
    await journal.completeRun(run!, sampleOutcome({ finishedAt: now, deliveries: [sampleDelivery(run!.id)] }));
    const [delivery] = await journal.claimDeliveries(1, ahead);
    await journal.retryDelivery(delivery!, ahead + 1000, "busy");
    expect(await journal.nextDueAt()).toBeLessThanOrEqual(now);
    expect(await journal.claimDeliveries(1, now)).toMatchObject([{ attempts: 2 }]);
  });
});

/** A run and a delivery that are in progress. */
async function leaveWork(at: string): Promise<{ run: string; delivery: string }> {
  const journal = await open(at);
  for (const session of ["a", "b"]) await journal.accept(sampleEvent({ actions: [sampleRun(session)] }));
  const [first, second] = await journal.claimRuns(2, NOW);
  const delivery = sampleDelivery(first!.id);
  await journal.completeRun(first!, sampleOutcome({ deliveries: [delivery] }));
  const [sending] = await journal.claimDeliveries(1, NOW + 10);
  await journal.progressDelivery(sending!, { partsSent: 1 });
  await journal.close();
  return { run: second!.id, delivery: delivery.id };
}
