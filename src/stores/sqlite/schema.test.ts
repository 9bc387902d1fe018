import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { copyAndLog } from "./upgrade-copy.ts";
import { openMigrated, type Schema } from "./database.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-schema-"));
  file = path.join(folder, "test.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const FIRST: Schema = {
  what: "store",
  migrations: ["CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('one')"],
  pragmas: "PRAGMA journal_mode = WAL",
};

test("a file goes through all versions, or is not changed", () => {
  open(FIRST);
  const later = [...FIRST.migrations, "ALTER TABLE notes ADD COLUMN size INTEGER", "UPDATE notes SET size = 3"];
  expect(() => open({ ...FIRST, migrations: [...later, "UPDATE nowhere SET size = 4"] })).toThrow("nowhere");
  expect(read()).toEqual({ version: 1, notes: [{ text: "one" }] });
  open({ ...FIRST, migrations: later });
  expect(read()).toEqual({ version: 3, notes: [{ text: "one", size: 3 }] });
});

test.for([
  ["a newer version", "PRAGMA user_version = 2", "the store has schema version 2, but this program supports 1 at most"],
  ["another program", "PRAGMA application_id = 0", "this file is not a store of this program"],
] as const)("a file of %s is refused, and not touched", ([, change, message]) => {
  open(FIRST);
  using other = new DatabaseSync(file);
  other.exec(change);
  other.close();
  const before = readFileSync(file);
  expect(() => open(FIRST)).toThrow(ConfigError);
  expect(() => open(FIRST)).toThrow(message);
  expect(readFileSync(file)).toEqual(before);
});

test("a file that the same version made with other tables is refused; a comment makes no other tables", () => {
  open(FIRST);
  const [tables] = FIRST.migrations;
  open({ ...FIRST, migrations: [`${tables} -- one row\n`] });
  expect(() => open({ ...FIRST, migrations: [`${tables}; CREATE INDEX notes_text ON notes (text)`] })).toThrow(
    "an unreleased version wrote it",
  );
});

test.each([4096, 8192])("the log of a file with pages of %i bytes has the same size", (pageSize) => {
  using other = new DatabaseSync(file);
  other.exec(`PRAGMA page_size = ${pageSize}; VACUUM`);
  other.close();
  const database = openMigrated(file, { ...FIRST, logBytes: 8000 * 4096 });
  expect(database.get("PRAGMA page_size")).toEqual({ page_size: pageSize });
  expect(database.get("PRAGMA wal_autocheckpoint")).toEqual({ wal_autocheckpoint: (8000 * 4096) / pageSize });
  database.close();
});

function open(schema: Schema): void {
  openMigrated(file, schema, copyAndLog(silentLog)).close();
}

function read(): unknown {
  using database = new DatabaseSync(file, { readOnly: true });
  const version = database.prepare("PRAGMA user_version").get()?.user_version;
  return { version, notes: database.prepare("SELECT * FROM notes").all() };
}
