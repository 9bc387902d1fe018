import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";

/** The file of a first start, and where it differs from that of another. */
let made: { file: Buffer; key: Buffer; storeId: Buffer } | undefined;

/**
 * Writes the file that a first start would make in a state folder without one, with a key and an id of its own. SQLite takes
 * half of the CPU of a start to make its tables.
 */
export async function writeFreshJournal(folder: string): Promise<void> {
  const target = path.join(folder, "journal.db");
  if (existsSync(target)) return;
  const { key, storeId, ...whole } = (made ??= await make());
  const file = Buffer.from(whole.file);
  randomBytes(key.length).copy(file, file.indexOf(key));
  file.write(randomBytes(storeId.length / 2).toString("hex"), file.indexOf(storeId), "latin1");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(target, file, { mode: 0o600 });
}

async function make(): Promise<NonNullable<typeof made>> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-fresh-"));
  await (await createSqliteJournal({ folder, telemetry: silentTelemetry })).close();
  const database = new DatabaseSync(path.join(folder, "journal.db"), { readOnly: true });
  const { key } = database.prepare("SELECT key FROM signing_key").get() ?? {};
  const { store_id: storeId } = database.prepare("SELECT store_id FROM publishing").get() ?? {};
  database.close();
  const file = readFileSync(path.join(folder, "journal.db"));
  rmSync(folder, { recursive: true });
  if (!(key instanceof Uint8Array)) throw new Error("a journal has no key");
  return { file, key: Buffer.from(key), storeId: Buffer.from(String(storeId)) };
}
