import { readFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { useJournals } from "../../../test/contracts/journal/harness.ts";
import { open } from "../../../test/contracts/journal/openers/sqlite.ts";
import { NOW, sampleEvent, sampleKeys, sampleOutcome } from "../../../test/contracts/journal/samples.ts";
import { readObjects } from "../../../test/journal-versions/dump.ts";
import { migrate, openDatabase, openMigrated } from "./database.ts";
import { JOURNAL_SCHEMA } from "./schema.ts";

const { start, folder } = useJournals(open);

describe.each([1, 2, 3, 4, 5, 6])("a file of version %i", (version) => {
  test("is migrated to the same schema as a new file", async () => {
    const [old, fresh] = [writeFile(version), folder()];
    for (const at of [old, fresh]) await (await start(at)).close();
    // If this fails for one version, its text in schema.ts was changed: add a version instead.
    expect(readAll(old, readSchema)).toEqual(readAll(fresh, readSchema));
    expect(readAll(old, (file) => file.prepare("PRAGMA integrity_check").get())).toEqual({
      integrity_check: "ok",
    });
  });

  /** Since then a run can be answered by the commit of its event, and has its turn in its row. */
  const answered = version >= 6 ? 1 : 0;

  test("keeps everything, and work in progress continues", async () => {
    const journal = await start(writeFile(version));
    const events = await journal.listEvents({ limit: 10 });
    expect(events.map(({ status }) => status)).toEqual([
      "accepted",
      "failed",
      "rejected",
      "skipped",
      "done",
      "accepted",
      "dead",
      "done",
      ...(answered ? ["done"] : []),
    ]);
    expect(await journal.getEvent(events[0]!.id)).toMatchObject({
      request: { body: Buffer.from('{"ref":"main"}') },
      log: [{ level: "warn", text: "odd" }],
      warnings: ["one"],
    });
    expect(await journal.stats()).toEqual({
      events: 8 + answered,
      pendingRuns: 3,
      pendingDeliveries: 1,
      pendingSystemEvents: 1 + answered,
    });
    const summaries = answered ? [{ text: "Hook GitHub: Done." }] : [];
    expect(await journal.pendingSystemEvents()).toMatchObject([...summaries, { text: "It's full." }]);
    const turn = answered ? [{ text: "Look at this." }, { role: "assistant", text: "Done." }] : [];
    expect(await journal.history("answered", 10)).toMatchObject(turn);
    const [, , , , , , dead, done] = events;
    expect(await journal.getEvent(done!.id)).toMatchObject({
      mapping: "pull-requests",
      request: { path: "/hooks/github", query: { page: "2" } },
      runs: [{ id: done!.actions[0]!.runId, hook: "github", action: { message: "Look at this." }, model: "echo" }],
      entries: [
        { eventId: done!.id, runId: done!.actions[0]!.runId, text: "Hello." },
        { role: "assistant", text: "Done." },
      ],
      deliveries: [{ state: "sent" }],
    });
    expect(await journal.getEvent(dead!.id)).toMatchObject({ runs: [{ state: "dead", error: "no" }], entries: [] });
    expect(await journal.history("done", 10)).toMatchObject([{ role: "user" }, { text: "Done." }]);
    expect(await journal.lastRoute()).toEqual({ channel: "slack", to: "C1" });
    expect(await journal.accept(sampleEvent({ idempotency: sampleKeys(["known"]) }))).toMatchObject({
      kind: "replayed",
    });

    const [run] = await journal.claimRuns(10, NOW);
    expect(run).toMatchObject({ sessionKey: "running", attempts: 2 });
    await journal.completeRun(run!, sampleOutcome());
    expect(await journal.claimRuns(10, NOW + 5000)).toMatchObject([{ attempts: 1 }, { attempts: 2 }]);
    expect(await journal.claimDeliveries(10, NOW + 10)).toMatchObject([{ to: "C3", partsSent: 1 }]);
    const letters = await journal.listDeadLetters({ limit: 10 });
    for (const { id } of letters) expect(await journal.retryDeadLetter(id, NOW)).toBe(true);
    expect(letters.map(({ kind }) => kind)).toEqual(["delivery", "run"]);
  });

  function writeFile(of: number): string {
    const at = folder();
    writeVersion(at, of);
    return at;
  }
});

test("a new file equals one that went through all versions", () => {
  const [old, fresh] = [folder(), folder()];
  const migrated = openDatabase(path.join(old, "journal.db"), { busyTimeoutMs: 0 });
  migrate(migrated, { migrations: JOURNAL_SCHEMA.migrations });
  migrated.close();
  openMigrated(path.join(fresh, "journal.db"), JOURNAL_SCHEMA).close();

  expect(readAll(fresh, readSchema)).toEqual(readAll(old, readSchema));
  expect(readAll(fresh, readRows)).toEqual(readAll(old, readRows));
  expect(readAll(fresh, readRows)).toContainEqual(["totals", [expect.objectContaining({ events: 0, last_seq: 0 })]]);
});

describe("a migration", () => {
  test("goes through all versions, or changes nothing", () => {
    const [at, before] = [folder(), folder()];
    for (const each of [at, before]) writeVersion(each, 1);
    const file = path.join(at, "journal.db");
    const later = ["", "ALTER TABLE events ADD COLUMN extra TEXT;", "UPDATE events SET extra = hook;"];
    const failing = [...later, "UPDATE nowhere SET extra = 1;"];

    const first = openDatabase(file, { busyTimeoutMs: 0 });
    expect(() => migrate(first, { migrations: failing })).toThrow("nowhere");
    first.close();
    expect(readAll(at, readVersion)).toEqual({ user_version: 1 });
    expect(readAll(at, readObjects)).toEqual(readAll(before, readObjects));

    const second = openDatabase(file, { busyTimeoutMs: 0 });
    migrate(second, { migrations: later });
    second.close();
    expect(readAll(at, readVersion)).toEqual({ user_version: 3 });
    const extra = "SELECT count(*) AS count FROM events WHERE extra = hook";
    expect(readAll(at, (database) => database.prepare(extra).get())).toEqual({ count: 8 });
  });
});

function writeVersion(at: string, version: number): void {
  const file = new URL(`../../../test/journal-versions/version-${version}.sql`, import.meta.url);
  using database = new DatabaseSync(path.join(at, "journal.db"));
  database.exec(readFileSync(file, "utf8"));
}

/** Without comments and layout: a column that a migration added has none. */
function readSchema(database: DatabaseSync): unknown {
  const objects = readObjects(database).map(({ sql, ...object }) => ({
    ...object,
    sql: sql
      .replaceAll(/--.*$/gm, "")
      .replaceAll(/\s+/g, " ")
      .replaceAll(/ ?([(),]) ?/g, "$1"),
  }));
  return { objects, version: readVersion(database) };
}

function readRows(database: DatabaseSync): unknown[] {
  const tables = readObjects(database).filter(({ type }) => type === "table");
  return tables.map(({ name }) => [name, database.prepare(`SELECT * FROM ${name}`).all()]);
}

function readVersion(database: DatabaseSync): unknown {
  return database.prepare("PRAGMA user_version").get();
}

function readAll<Result>(at: string, read: (database: DatabaseSync) => Result): Result {
  using database = new DatabaseSync(path.join(at, "journal.db"), { readOnly: true });
  return read(database);
}
