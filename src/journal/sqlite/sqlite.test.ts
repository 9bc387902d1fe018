import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { ClaimedRun, RunLimits, TurnOutcome } from "../journal.ts";
import { describeJournal } from "../../../test/contracts/journal.ts";
import { useJournals } from "../../../test/contracts/journal/harness.ts";
import { open } from "../../../test/contracts/journal/openers/sqlite.ts";
import { NOW, sampleEvent, sampleOutcome, sampleRun, sweepAll } from "../../../test/contracts/journal/samples.ts";

const opener = new URL("../../../test/contracts/journal/openers/sqlite.ts", import.meta.url);
describeJournal("SQLite", { open, opener, hasSizeLimit: true, isSlow: false });

describe("a claim that is asked for answers", () => {
  const { start } = useJournals(open);
  const answer = (): TurnOutcome => sampleOutcome();

  test("completes any number of runs, beside the limit", async () => {
    const journal = await start();
    const actions = ["a", "a", "b", "c"].map((session) => sampleRun(session));
    await journal.accept(sampleEvent({ actions }));
    const runs: ClaimedRun[] = [];
    // Each takes a few milliseconds at most, however long a run is looked at.
    while (runs.length < 4) runs.push(...(await journal.claimRuns(1, NOW, { answer })));
    expect(runs.map(({ id, state, attempts }) => [id, state, attempts])).toEqual(
      actions.map(({ runId }) => [runId, "done", 1]),
    );
    expect(await journal.listRuns({ limit: 9, state: "done" })).toHaveLength(4);
    expect(await journal.stats()).toMatchObject({ pendingRuns: 0 });
  });

  test("says that there is more if it ends early", async () => {
    const journal = await start();
    await journal.accept(sampleEvent({ actions: [sampleRun("a"), sampleRun("a"), sampleRun("a")] }));
    const announced: boolean[] = [];
    journal.watch((work) => announced.push(work.has("run")));
    const answerSlowly = (): TurnOutcome => {
      for (const startedAt = performance.now(); performance.now() - startedAt < 10;);
      return sampleOutcome();
    };
    for (let claim = 0; claim < 3; claim += 1) {
      expect(await journal.claimRuns(4, NOW, { answer: answerSlowly })).toHaveLength(1);
    }
    expect(announced).toEqual([true, true]);
  });

  test("claims the others up to the limit", async () => {
    const journal = await start();
    const actions = ["a", "b", "c", "d"].map((session) => sampleRun(session));
    await journal.accept(sampleEvent({ actions }));
    const isOdd = ({ id }: ClaimedRun): boolean => id === actions[1]?.runId || id === actions[3]?.runId;
    const runs: ClaimedRun[] = [];
    const answerOthers = (run: ClaimedRun): TurnOutcome | undefined => (isOdd(run) ? undefined : sampleOutcome());
    while (!runs.some(({ state }) => state === "running")) {
      runs.push(...(await journal.claimRuns(1, NOW, { answer: answerOthers })));
    }
    expect(runs.slice(0, 2).map(({ id, state }) => [id, state])).toEqual([
      [actions[0]?.runId, "done"],
      [actions[1]?.runId, "running"],
    ]);
    expect(await journal.getRun(actions[3]!.runId)).toMatchObject({ state: "ready", attempts: 0 });
    expect(await journal.completeRun(runs[1]!, sampleOutcome())).toBe(true);
    expect(await journal.completeRun(runs[0]!, sampleOutcome())).toBe(false);
  });

  test("keeps to the rate of a mapping", async () => {
    const journal = await start();
    const actions = ["a", "b", "c"].map((session) => sampleRun(session));
    await journal.accept(sampleEvent({ mapping: "m", actions }));
    const limits: RunLimits = new Map([["m", { rate: { max: 2, perMs: 1000 } }]]);
    expect(await journal.claimRuns(9, NOW, { limits, answer })).toHaveLength(2);
    expect(await journal.claimRuns(9, NOW + 999, { limits, answer })).toEqual([]);
    expect(await journal.claimRuns(9, NOW + 1000, { limits, answer })).toHaveLength(1);
  });
});

describe("the SQLite file", () => {
  const { start, folder } = useJournals(open);

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
    const events = Array.from({ length: 300 }, () => sampleEvent({ status: "skipped", actions: [] }));
    for (const event of events) event.request.body = Buffer.alloc(20_000);
    await Promise.all(events.map((event) => journal.accept(event)));
    await sweepAll(journal, { now: NOW + 1, keepFrom: NOW + 1 });
    await journal.close();
    expect(statSync(path.join(at, "journal.db")).size).toBeLessThan(500_000);
  });

  test("that is not a database is refused by name", async () => {
    const at = folder();
    const file = path.join(at, "journal.db");
    writeFileSync(file, "hello, ".repeat(1000));
    await expect(open(at)).rejects.toMatchObject({ name: "ConfigError", problems: [{ file }] });
  });
});
