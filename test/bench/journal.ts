/**
 * The cost of an accept: accepts per second and CPU per accept with 1 and with 64 in flight, against bare inserts of the
 * same bytes into one table, one or 64 per commit. Run it with `node test/bench/journal.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { BODY, toEvent } from "./event.ts";

const ROUNDS = 3;
const ACCEPTS = 6000;

interface Figures {
  perSecond: number;
  userMicroseconds: number;
  systemMicroseconds: number;
}

const CASES: Record<string, (folder: string) => Promise<Figures>> = {
  "bare insert, 1 per commit": (folder) => benchBare(folder, 1),
  "bare insert, 64 per commit": (folder) => benchBare(folder, 64),
  "journal, 1 in flight": (folder) => benchJournal(folder, 1),
  "journal, 64 in flight": (folder) => benchJournal(folder, 64),
};

for (let round = 1; round <= ROUNDS; round += 1) {
  for (const [name, bench] of Object.entries(CASES)) {
    const folder = mkdtempSync(path.join(tmpdir(), "journal-bench-"));
    print(name, await bench(folder));
    rmSync(folder, { recursive: true });
  }
}

async function benchJournal(folder: string, inFlight: number): Promise<Figures> {
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  const events = Array.from({ length: ACCEPTS }, (_, index) => toEvent(index));
  const queue = events.values();
  const figures = await measure(async () => {
    const workers = Array.from({ length: inFlight }, async () => {
      for (const event of queue) await journal.accept(event);
    });
    await Promise.all(workers);
  });
  await journal.close();
  return figures;
}

async function benchBare(folder: string, group: number): Promise<Figures> {
  const database = new DatabaseSync(path.join(folder, "bare.db"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE bare (event TEXT, body BLOB)");
  const insert = database.prepare("INSERT INTO bare VALUES (?, ?)");
  const events = Array.from({ length: ACCEPTS }, (_, index) =>
    JSON.stringify({ ...toEvent(index), request: undefined }),
  );
  const figures = await measure(async () => {
    for (let start = 0; start < events.length; start += group) {
      database.exec("BEGIN IMMEDIATE");
      for (const event of events.slice(start, start + group)) insert.run(event, BODY);
      database.exec("COMMIT");
    }
  });
  database.close();
  return figures;
}

async function measure(work: () => Promise<void>): Promise<Figures> {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: ACCEPTS / ((performance.now() - startedAt) / 1000),
    userMicroseconds: user / ACCEPTS,
    systemMicroseconds: system / ACCEPTS,
  };
}

function print(name: string, { perSecond, userMicroseconds, systemMicroseconds }: Figures): void {
  const user = userMicroseconds.toFixed(1).padStart(6);
  const system = systemMicroseconds.toFixed(1).padStart(6);
  console.log(`${name.padEnd(26)} ${perSecond.toFixed(0).padStart(7)}/s  CPU µs: ${user} user ${system} system`);
}
