/** Damaged files before a restart: the service reads only complete data, or refuses to start and names the file. */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as fc from "../support/property.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigError, JournalUnavailable } from "../../src/core/errors.ts";
import { type Journal } from "../../src/core/journal/journal.ts";
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { open } from "../contracts/journal/openers/sqlite.ts";
import { NOW, sampleEvent, sampleRun } from "../contracts/journal/samples.ts";

const EVENTS = 24;
const LOG = "journal.db-wal";
const PAGE_BYTES = 4096;

/** A state folder after a kill: every commit is in the write-ahead log. */
let killed: string;
let accepted: string[];

beforeAll(async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-damage-"));
  killed = mkdtempSync(path.join(tmpdir(), "hookline-damage-"));
  const journal = await open(folder);
  accepted = [];
  for (let count = 0; count < EVENTS; count += 1) {
    const event = sampleEvent({ actions: [sampleRun(`session ${count % 5}`)] });
    await journal.accept(event);
    accepted.push(event.id);
  }
  for (const name of readdirSync(folder)) copyFileSync(path.join(folder, name), path.join(killed, name));
  await journal.close();
  rmSync(folder, { recursive: true });
});
afterAll(() => rmSync(killed, { recursive: true }));

test("undamaged, everything is kept", async () => {
  expect(await keptAfter(undamaged)).toBe(EVENTS);
});

test("a write-ahead log truncated anywhere keeps a prefix of complete commits", async () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const cut = async (at: number): Promise<void> => {
    const kept = await keptAfter((bytes) => bytes.subarray(0, Math.floor(at * bytes.length)));
    expect(kept).toBeLessThanOrEqual(EVENTS * at);
  };
  await fc.assert(fc.asyncProperty(share, cut), { numRuns: 15 });
});

test("a write-ahead log with a flipped bit anywhere keeps a prefix of complete commits", async () => {
  const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const flip = async (at: number, bit: number): Promise<void> => {
    const kept = await keptAfter((bytes) => {
      const index = Math.floor(at * bytes.length);
      bytes[index] = (bytes[index] ?? 0) ^ (1 << bit);
      return bytes;
    });
    expect(kept).toBeLessThan(EVENTS);
  };
  await fc.assert(fc.asyncProperty(share, fc.nat(7), flip), { numRuns: 15 });
});

test.for([
  ["cut off behind a commit", (bytes: Buffer) => bytes, "recovered"],
  ["damaged in the middle", (bytes: Buffer) => bytes.fill(0xa5, bytes.length / 2, bytes.length / 2 + 1), "damaged"],
] as const)("a write-ahead log that was %s: the start says how much of it is used", async ([, damage, word]) => {
  const logged: [string, unknown][] = [];
  const write = (message: string, fields?: object): void => void logged.push([message, fields]);
  const log = { debug: write, info: write, warn: write, error: write };
  await withDamaged(LOG, damage, async (folder) => {
    await (await createSqliteJournal({ folder, telemetry: { ...silentTelemetry, log } })).close();
  });
  const [, fields] = logged.find(([message]) => message.includes(word)) ?? [];
  expect(fields).toMatchObject({ usedFrames: expect.any(Number), frames: expect.any(Number) });
});

test("an empty file beside the lock of an earlier service is refused", async () => {
  await withDamaged(
    "journal.db",
    () => Buffer.of(),
    async (folder) => {
      await expect(open(folder)).rejects.toThrow("the file is empty, although a service has used this folder");
      rmSync(path.join(folder, "journal.db"));
      await (await open(folder)).close();
    },
  );
});

test("a file damaged in the middle is refused at the start or at a write, never taken as intact", async () => {
  await withDamaged(LOG, undamaged, async (folder) => {
    // Closing moves the log's content to the database file.
    await (await open(folder)).close();
    const file = path.join(folder, "journal.db");
    writeFileSync(file, readFileSync(file).fill(0xa5, PAGE_BYTES));
    const refusal = await expectRefusal(folder);
    expect(refusal.message).toMatch(/malformed|damaged/);
  });
});

/**
 * Opens the folder with its damaged log and returns the number of events. They must be the first accepted ones, each
 * complete, and new ones must be accepted after them.
 */
async function keptAfter(damage: (bytes: Buffer) => Buffer): Promise<number> {
  return withDamaged(LOG, damage, async (folder) => {
    const journal = await open(folder);
    try {
      const kept = await readBeginning(journal);
      expect(await journal.accept(sampleEvent())).toMatchObject({ kind: "committed" });
      return kept;
    } finally {
      await journal.close();
    }
  });
}

async function readBeginning(journal: Journal): Promise<number> {
  const { events, pendingRuns } = await journal.stats();
  expect(pendingRuns).toBe(events);
  const kept = await journal.listEvents({ limit: EVENTS + 1 });
  expect(kept.map(({ id }) => id).toReversed()).toEqual(accepted.slice(0, events));
  for (const { id } of kept) expect(await journal.getEvent(id)).toMatchObject({ runs: [{ eventId: id }] });
  return events;
}

async function expectRefusal(folder: string): Promise<Error> {
  let journal: Journal | undefined;
  try {
    journal = await open(folder);
    await journal.accept(sampleEvent());
    await journal.claimRuns(EVENTS, NOW);
  } catch (error) {
    if (error instanceof ConfigError || error instanceof JournalUnavailable) return error;
    throw error;
  } finally {
    await journal?.close();
  }
  throw new Error("the damage was not noticed");
}

async function withDamaged<Result>(
  name: string,
  damage: (bytes: Buffer) => Buffer,
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-damage-"));
  try {
    for (const file of readdirSync(killed)) copyFileSync(path.join(killed, file), path.join(folder, file));
    writeFileSync(path.join(folder, name), damage(readFileSync(path.join(folder, name))));
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function undamaged(bytes: Buffer): Buffer {
  return bytes;
}
