import { existsSync } from "node:fs";
import path from "node:path";
import type { JournalReads } from "../core/journal/journal.ts";
import { createReads } from "../core/journal/reads/index.ts";
import type { Reader } from "../core/journal/reads/reader.ts";
import { silentLog } from "../core/telemetry/log.ts";
import { openDatabase } from "./sqlite/database.ts";
import { createReader } from "./sqlite/read.ts";

const WAIT_MS = 5000;

/** Reads a journal to which a service may be writing. `postgres`: the database that it is in. undefined: there is none yet. */
export async function readJournal<Result>(
  { path: folder, postgres }: { path: string; postgres?: { url: string } },
  work: (reads: JournalReads) => Promise<Result>,
): Promise<Result | undefined> {
  if (postgres) {
    const { createDatabase } = await import("./postgres/database.ts");
    const { createReader: createPostgresReader } = await import("./postgres/read.ts");
    const { url } = postgres;
    const database = createDatabase({ url, maxConnections: 1, commitTimeoutMs: WAIT_MS, log: silentLog });
    const reading = database.read((sql) => work(toReads(createPostgresReader(sql, 0))));
    return reading.finally(() => database.close());
  }
  const file = path.join(folder, "journal.db");
  if (!existsSync(file)) return undefined;
  const database = openDatabase(file, { busyTimeoutMs: WAIT_MS, readOnly: true });
  return work(toReads(createReader(database))).finally(() => database.close());
}

function toReads(reader: Reader): JournalReads {
  return createReads(
    (operation) =>
      (...args) =>
        operation(reader, ...args),
  );
}
