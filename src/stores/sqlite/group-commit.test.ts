import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Log } from "../../core/telemetry/log.ts";
import { type Database, openDatabase } from "./database.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";

describe("group commit", () => {
  let folder: string;
  let database: Database;
  let commits: GroupCommit;
  let logged: string[];

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "group-commit-"));
    database = openDatabase(path.join(folder, "test.db"), { busyTimeoutMs: 0 });
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT NOT NULL UNIQUE)");
    logged = [];
    commits = createGroupCommit(database, recordingLog(logged));
  });

  afterEach(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });

  const add = (text: string | undefined): Promise<number> =>
    commits.write(() => database.run("INSERT INTO notes VALUES (?)", text));
  const notes = (): unknown[] => database.all("SELECT text FROM notes ORDER BY text").map((row) => row.text);

  test("writes in one turn of the event loop share a transaction", async () => {
    const inTransaction = commits.write(() => database.inTransaction());
    const sees = commits.write(() => notes());
    expect(await Promise.all([add("a"), inTransaction, sees])).toEqual([1, true, []]);
    const seesBefore = [add("b"), commits.write(() => notes())];
    expect(await Promise.all(seesBefore)).toEqual([1, ["a", "b"]]);
  });

  test("more than one group is committed, in order", async () => {
    const order: number[] = [];
    const writes = Array.from({ length: 600 }, (_, index) => commits.write(() => index));
    await Promise.all(writes.map(async (write) => order.push(await write)));
    expect(order).toEqual(Array.from({ length: 600 }, (_, index) => index));
  });

  test("an operation that throws is undone alone", async () => {
    const results = await Promise.allSettled([add("a"), add("a"), add(undefined), add("b")]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(notes()).toEqual(["a", "b"]);
    expect(logged).toEqual([]);
  });

  test("a full disk rejects all queued writes, leaves nothing behind, and recovers by itself", async () => {
    database.exec("PRAGMA max_page_count = 8");
    const results = await Promise.allSettled([add("small"), add("x".repeat(100_000)), add("other")]);
    expect(results).toMatchObject(
      Array.from({ length: 3 }, () => ({ status: "rejected", reason: { name: "JournalUnavailable" } })),
    );
    expect(notes()).toEqual([]);

    expect(await add("small")).toBe(1);
    database.exec("PRAGMA max_page_count = 1000000");
    await add("x".repeat(100_000));
    expect(logged).toEqual(["error: journal refuses writes", "info: journal accepts writes again"]);
  });

  test("a locked file rejects all groups at once, not one after the other", async () => {
    const other = openDatabase(path.join(folder, "test.db"), { busyTimeoutMs: 0 });
    other.exec("BEGIN IMMEDIATE");
    const writes = Array.from({ length: 600 }, (_, index) => add(String(index)));
    const settled = Promise.allSettled(writes);
    // A group that came later would find the file unlocked.
    await expect(writes[0]).rejects.toMatchObject({ name: "JournalUnavailable" });
    other.close();
    expect((await settled).every((result) => result.status === "rejected")).toBe(true);
    expect(logged).toEqual(["error: journal refuses writes"]);
    expect(await add("a")).toBe(1);
  });

  test("close commits what is queued and rejects later writes", async () => {
    const waiting = Array.from({ length: 600 }, (_, index) => add(String(index)));
    commits.close();
    await expect(add("late")).rejects.toMatchObject({ name: "JournalUnavailable" });
    expect(await Promise.all(waiting)).toHaveLength(600);
    expect(notes()).toHaveLength(600);
  });
});

function recordingLog(lines: string[]): Log {
  const write = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
