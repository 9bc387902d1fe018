/**
 * Writes `version-<n>.sql`: a journal with work in every state, as after a kill of this program. Run it with
 * `node test/journal-versions/write.ts` before a schema version is released, never after.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { open } from "../contracts/journal/openers/sqlite.ts";
import { dump } from "./dump.ts";
import { fill } from "./fill.ts";

const folder = mkdtempSync(path.join(tmpdir(), "hookline-version-"));
const journal = await open(folder);
await fill(journal);

const database = new DatabaseSync(path.join(folder, "journal.db"), { readOnly: true });
const { version, sql } = dump(database);
writeFileSync(path.join(import.meta.dirname, `version-${version}.sql`), sql);
database.close();
await journal.close();
rmSync(folder, { recursive: true });
