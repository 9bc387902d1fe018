import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../core/telemetry/log.ts";
import { openMigrated } from "./database.ts";
import { JOURNAL_SCHEMA } from "./schema.ts";
import { copyAndLog } from "./upgrade-copy.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-upgrade-"));
  file = path.join(folder, "journal.db");
  const database = openMigrated(file, JOURNAL_SCHEMA);
  for (let count = 0; count < ROWS; count++) {
    database.run(
      "INSERT INTO routes (channel, recipient, chosen_by) VALUES (?, ?, ?)",
      "c",
      "x".repeat(1000),
      `${count}`,
    );
  }
  database.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

const ROWS = 300;
const CURRENT = JOURNAL_SCHEMA.migrations.length;

const NEXT = [
  ...JOURNAL_SCHEMA.migrations,
  "ALTER TABLE routes ADD COLUMN later INTEGER",
  "UPDATE routes SET later = 7",
];

/**
 * A start of a program whose journal has two more versions. With `COPY_TO`, it first tries without room, and then, before each
 * change of a file, it copies its folder there, which is what a kill leaves.
 */
const NEXT_START = path.join(tmpdir(), `hookline-next-start-${process.pid}.mjs`);
writeFileSync(
  NEXT_START,
  `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    import { DatabaseSync } from "node:sqlite";
    import path from "node:path";
    const { COPY_TO } = process.env;
    const { cpSync, statfsSync } = fs;
    let steps = 0;
    let copies = true;
    const copied = (call) => function (...args) {
      if (COPY_TO && !copies) {
        copies = true;
        cpSync(path.dirname(process.argv[2]), path.join(COPY_TO, String(steps++)), { recursive: true });
        copies = false;
      }
      return call.apply(this, args);
    };
    let isFull = COPY_TO !== undefined;
    fs.statfsSync = (at) => ({ ...statfsSync(at), ...(isFull && { bavail: 1 }) });
    const { openMigrated } = await import(${JSON.stringify(path.join(import.meta.dirname, "database.ts"))});
    const { copyAndLog } = await import(${JSON.stringify(path.join(import.meta.dirname, "upgrade-copy.ts"))});
    const { JOURNAL_SCHEMA } = await import(${JSON.stringify(path.join(import.meta.dirname, "schema.ts"))});
    for (const name of ["openSync", "fsyncSync", "renameSync"]) fs[name] = copied(fs[name]);
    syncBuiltinESMExports();
    for (const name of ["exec", "close"]) DatabaseSync.prototype[name] = copied(DatabaseSync.prototype[name]);
    const log = { warn: (message, { copy }) => console.log(copy) };
    const migrations = ${JSON.stringify(NEXT)};
    const start = () => openMigrated(process.argv[2], { ...JOURNAL_SCHEMA, migrations }, copyAndLog(log)).close();
    if (isFull) {
      const before = fs.readFileSync(process.argv[2]);
      try {
        start();
      } catch ({ message }) {
        const names = fs.readdirSync(path.dirname(process.argv[2]));
        console.log(JSON.stringify({ message, names, isSame: fs.readFileSync(process.argv[2]).equals(before) }));
      }
      isFull = false;
    }
    copies = false;
    start();`,
);

async function startNext(env: Record<string, string>, ...limit: string[]) {
  const [command, ...args] = [...limit, process.execPath, NEXT_START, file];
  return promisify(execFile)(command, args, { env: { ...process.env, ...env } });
}

const COPY = `journal.v${CURRENT}.db`;

test("without room before the copy nothing is changed, and what a kill leaves at each place of an upgrade is the file of one version whole, and a copy whole or none", async () => {
  const copies = mkdtempSync(path.join(tmpdir(), "hookline-upgrade-copies-"));
  const { stdout } = await startNext({ COPY_TO: copies });
  const [refused = "", copied] = stdout.trim().split("\n");
  expect(JSON.parse(refused)).toMatchObject({ message: expect.stringMatching(NO_ROOM), isSame: true });
  expect(withoutShared(JSON.parse(refused).names)).toEqual(["journal.db"]);
  expect(copied).toBe(path.join(folder, COPY));
  expect(statSync(path.join(folder, COPY)).mode & 0o777).toBe(0o600);
  const steps = readdirSync(copies);
  expect(steps.length).toBeGreaterThan(8);
  for (const step of steps) {
    const at = path.join(copies, step);
    const killed = readVersion("journal.db", at);
    expect([CURRENT, CURRENT + 2]).toContain(killed);
    if (killed > CURRENT || readdirSync(at).includes(COPY)) expect(readVersion(COPY, at)).toBe(CURRENT);
    openMigrated(path.join(at, "journal.db"), { ...JOURNAL_SCHEMA, migrations: NEXT }, copyAndLog(silentLog)).close();
    expect([step, readVersion("journal.db", at), readVersion(COPY, at)]).toEqual([step, CURRENT + 2, CURRENT]);
    expect(readdirSync(at).filter((name) => name.includes("partial"))).toEqual([]);
  }
  rmSync(copies, { recursive: true });
});

const NO_ROOM = /make room and start again: nothing was changed/;

function withoutShared(names: string[]): string[] {
  return names.filter((name) => !/-(?:wal|shm)$/.test(name));
}

test("without room during the copy, nothing is changed", async () => {
  const before = readFileSync(file);
  // In KiB: less than the file has.
  await expect(startNext({}, "bash", "-c", 'ulimit -f 100; exec "$@"', "bash")).rejects.toThrow(NO_ROOM);
  expect(withoutShared(readdirSync(folder))).toEqual(["journal.db"]);
  expect(readFileSync(file)).toEqual(before);
});

test("of all that opens the file, only a start changes it", () => {
  expect(() => openMigrated(file, { ...JOURNAL_SCHEMA, migrations: NEXT })).toThrow(
    `has schema version ${CURRENT} of an earlier program`,
  );
  expect(readVersion("journal.db")).toBe(CURRENT);
});

/** Reads the version of a file, and requires that the file is whole. */
function readVersion(name: string, at = folder): number {
  using database = new DatabaseSync(path.join(at, name));
  expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  expect(database.prepare("SELECT count(*) AS count FROM routes").get()).toEqual({ count: ROWS });
  return Number(database.prepare("PRAGMA user_version").get()?.user_version);
}
