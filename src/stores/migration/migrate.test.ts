import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { useJournals } from "../../../test/contracts/journal/harness.ts";
import { open as openSqlite } from "../../../test/contracts/journal/openers/sqlite.ts";
import {
  nextId,
  NOW,
  sampleEvent,
  sampleKeys,
  sampleRun,
  sampleWake,
} from "../../../test/contracts/journal/samples.ts";
import { complete, fill, fillMore } from "../../../test/contracts/journal/fill.ts";
import { createPostgresUrl } from "../../../test/support/postgres.ts";
import { ConfigError } from "../../core/errors.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import type { Journal } from "../../core/journal/journal.ts";
import { createDatabase, type PostgresDatabase } from "../postgres/database.ts";
import { createPostgresJournal } from "../postgres/postgres.ts";
import { type MigratedTable, migrateJournal, type MigrationProgress } from "./migrate.ts";

const { folder, start } = useJournals(openSqlite);
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function migrate(
  at: string,
  url: string,
  onProgress: (progress: MigrationProgress) => void = () => undefined,
): Promise<MigratedTable[]> {
  const openOthers = () => ({ sources: [], close: () => undefined });
  return migrateJournal({ folder: at, url, openOthers, log: silentTelemetry.log, onProgress });
}

async function openPostgres(url: string): Promise<Journal> {
  const journal = await createPostgresJournal({
    url,
    maxConnections: 1,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    pollMs: 3_600_000,
  });
  closing.push(() => journal.close());
  return journal;
}

function openDatabase(url: string): PostgresDatabase {
  const database = createDatabase({ url, maxConnections: 1, commitTimeoutMs: 60_000, log: silentTelemetry.log });
  closing.push(() => database.close());
  return database;
}

/** All that a journal shows, through its port. */
async function readAll(journal: Journal): Promise<unknown> {
  const page = { limit: 10_000 };
  const events = await journal.listEvents(page);
  const sessions = await journal.listSessions(page);
  return {
    events,
    records: await Promise.all(events.map(({ id }) => journal.getEvent(id))),
    counts: await journal.countSince(0),
    signature: Buffer.from(journal.sign("text")).toString("hex"),
    sessions: sessions.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    entries: await Promise.all(sessions.map(({ key }) => journal.getSession(key, page))).then((all) =>
      all.toSorted((a, b) => (a!.session.key < b!.session.key ? -1 : 1)),
    ),
    runs: await journal.listRuns(page),
    deliveries: await journal.listDeliveries(page),
    deadLetters: await journal.listDeadLetters(page),
    pending: await journal.pendingSystemEvents(),
    spend: await journal.spend({ since: 0 }),
    tallies: await journal.listTallies(0, 1),
    approvals: await journal.listApprovals(page),
    state: await journal.readState("pull-requests", ["count", "last"]),
    notes: await journal.listNotes("ready"),
    routes: [await journal.lastRoute(), await journal.lastRoute("slack"), await journal.lastRoute("discord")],
    sent: await journal.wasSent("C1:1", 0),
    answers: await journal.listAnswers("last", "ada", 0),
    stats: await journal.stats(),
    publications: {
      storeId: await journal.publications.storeId(),
      state: await journal.publications.state(),
      rows: await journal.publications.read({ after: 0, upTo: 100, limit: 100 }),
      unnumbered: (await journal.publications.listUnnumbered(100)).map(({ id }) => id),
      types: await journal.publications.listTypes(),
      subscriptions: await journal.publications.listSubscriptions(),
    },
  };
}

let filled: string | undefined;
afterAll(() => {
  if (filled !== undefined) rmSync(filled, { recursive: true });
});

/** A journal with all of it, closed. */
async function createFilled(): Promise<string> {
  filled ??= await fillOnce();
  return copyOf(filled);
}

async function fillOnce(): Promise<string> {
  const at = mkdtempSync(path.join(tmpdir(), "hookline-filled-"));
  const journal = await openSqlite(at);
  await fill(journal);
  await fillMore(journal);
  const id = nextId();
  await journal.accept(sampleEvent({ id, actions: [sampleWake("last", id)] }));
  await journal.pauseMapping("paused", NOW);
  await journal.close();
  return at;
}

test("the database shows what the file shows, and work continues there only", async () => {
  const at = await createFilled();
  const copy = copyOf(at);
  const url = await createPostgresUrl();
  const tables = await migrate(at, url);
  expect(tables.filter(({ rows }) => rows === 0).map(({ table }) => table)).toEqual([
    "run_starts",
    "mail_folders",
    "mail_known",
    "mail_set_aside",
    "mail_refresh_tokens",
  ]);
  await expect(start(at)).rejects.toThrow("this journal was migrated to PostgreSQL; set store.url to that database");
  await expect(migrate(at, url)).rejects.toThrow("the database is not empty (hookline.events)");
  const misplaced = openDatabase(url).read(({ get }) =>
    get("SELECT count(*)::int AS count FROM hookline.events_other"),
  );
  expect(await misplaced).toEqual({ count: 0 });
  const [before, after] = [await start(copy), await openPostgres(url)];
  expect(await readAll(after)).toEqual(await readAll(before));

  for (const journal of [before, after]) {
    expect(await journal.accept(sampleEvent({ idempotency: sampleKeys(["known"]) }))).toMatchObject({
      kind: "replayed",
    });
    const entry = sampleWake("New.");
    await journal.accept(sampleEvent({ actions: [entry] }));
  }
  const claims = await Promise.all([before, after].map((journal) => journal.claimRuns(10, NOW + 60_000)));
  const plain = claims.map((runs) => runs.map((run) => ({ ...run, token: 0 })));
  expect(plain[1]).toEqual(plain[0]);
  expect(plain[1]).toContainEqual(expect.objectContaining({ joined: { messages: ["two", "three"], leftOut: 0 } }));
  const seqs = (journal: Journal) => journal.pendingSystemEvents().then((all) => all.map(({ seq }) => seq));
  expect(Math.max(...(await seqs(after)))).toBeGreaterThan(Math.max(...(await seqs(before)).slice(0, -1)));
});

function copyOf(at: string): string {
  const copy = folder();
  cpSync(at, copy, { recursive: true });
  return copy;
}

test("text that PostgreSQL cannot store becomes what the database would have stored", async () => {
  const at = folder();
  const journal = await openSqlite(at);
  for (const key of ["a\0b", "a␀b"]) {
    await journal.accept(
      sampleEvent({ actions: [sampleRun(key, { message: "x\0y" })], idempotency: sampleKeys([`key ${key}`]) }),
    );
  }
  for (const run of await journal.claimRuns(10, NOW)) await complete(journal, run);
  await journal.close();
  const url = await createPostgresUrl();
  await migrate(at, url);
  const after = await openPostgres(url);
  expect(await after.getSession("a\0b", { limit: 10 })).toMatchObject({ entries: { length: 4 } });
  expect(await after.history("a␀b", 1)).toMatchObject([{ text: expect.stringContaining("a␀b") }]);
  expect(await after.accept(sampleEvent({ idempotency: sampleKeys(["key a\0b"]) }))).toMatchObject({
    kind: "replayed",
  });
});

describe("an unfinished migration", () => {
  async function interrupt(at: string): Promise<string> {
    const url = await createPostgresUrl();
    const stop = new Error("interrupted");
    const stopAtRuns = ({ table }: MigrationProgress): void => {
      if (table === "runs") throw stop;
    };
    await expect(migrate(at, url, stopAtRuns)).rejects.toThrow(stop);
    return url;
  }

  test("continues, and copies nothing twice", async () => {
    const at = await createFilled();
    const copy = copyOf(at);
    const url = await interrupt(at);
    const copied: string[] = [];
    await migrate(at, url, ({ step, table }) => void (step === "copying" && copied.push(table)));
    expect(copied).not.toContain("events");
    expect(copied).toContain("idempotency_keys");
    const [before, after] = [await start(copy), await openPostgres(url)];
    expect(await readAll(after)).toEqual(await readAll(before));
  });

  test("is refused after a service has opened the file again, and for another file", async () => {
    const at = await createFilled();
    const url = await interrupt(at);
    const other = folder();
    await (await openSqlite(other)).close();
    await expect(migrate(other, url)).rejects.toThrow("unfinished migration of another journal");
    await (await openSqlite(at)).close();
    await expect(migrate(at, url)).rejects.toThrow("or of this one before the service was started again");
  });

  test("is not finished if the database differs from the file, and no service starts on the database", async () => {
    const at = await createFilled();
    const url = await interrupt(at);
    await openDatabase(url).transact(async ({ run }) => {
      await run("UPDATE hookline.runs SET error = 'other' WHERE seq = (SELECT min(seq) FROM hookline.runs)");
      await run("DELETE FROM hookline.bodies WHERE event_id = (SELECT event_id FROM hookline.bodies LIMIT 1)");
    });
    const migrated = migrate(at, url);
    await expect(migrated).rejects.toThrow("hookline.runs is not as in the file (the checksums differ)");
    await expect(migrated).rejects.toThrow(/hookline\.bodies is not as in the file \(\d+ rows in the file, \d+ in/);
    const starting = openPostgres(url);
    await expect(starting).rejects.toThrow(ConfigError);
    await expect(starting).rejects.toThrow("a migration into this database is unfinished");
  });
});

describe("refuses", () => {
  test("a journal that a service has open", async () => {
    const at = await createFilled();
    await start(at);
    await expect(migrate(at, await createPostgresUrl())).rejects.toThrow("another process owns this state folder");
  });

  test("a folder without a journal", async () => {
    await expect(migrate(folder(), await createPostgresUrl())).rejects.toThrow("The file does not exist.");
  });

  test("a database that a service runs on", async () => {
    const url = await createPostgresUrl();
    await openPostgres(url);
    await expect(migrate(await createFilled(), url)).rejects.toThrow("a service runs on this database");
  });

  test("a database that cannot be reached", async () => {
    const url = "postgres://nobody@127.0.0.1:1/none";
    await expect(migrate(await createFilled(), url)).rejects.toThrow(/the database cannot be used: .*ECONNREFUSED/);
  });
});
