import { DAY_MS } from "../../core/shared/time.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ConfigError, JournalUnavailable } from "../../core/errors.ts";
import { createId } from "../../core/shared/id.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { createDatabase, type PostgresDatabase } from "../postgres/database.ts";
import { addPartitions } from "../postgres/retention.ts";
import { migrate as createTables } from "../postgres/schema.ts";
import { integer, text } from "../../core/journal/columns.ts";
import type { Database } from "../sqlite/database.ts";
import { openJournalFile, readSigningKey } from "../sqlite/sqlite.ts";
import {
  addRow,
  beginMigration,
  type Checksum,
  type Copied,
  finishMigration,
  formatChecksum,
  type Progress,
  sizeOf,
  checksumTable,
  TARGET_TABLES,
  writeRows,
} from "./target.ts";
import { countRows, journalSources, type Position, readOldest, readRows, type Source } from "./source.ts";

export interface MigrationOptions {
  /** The state folder. No service may run on it. */
  folder: string;
  /** The URL of the PostgreSQL database. */
  url: string;
  /** Opens what else the folder holds. */
  openOthers(folder: string): { sources: Source[]; close(): void };
  log: Log;
  onProgress(progress: MigrationProgress): void;
}

export interface MigrationProgress {
  step: "copying" | "reading" | "comparing";
  table: string;
  rows: number;
  total: number;
}

export interface MigratedTable {
  table: string;
  rows: number;
  /** Equal on both sides. */
  checksum: string;
}

const MAX_BATCH_ROWS = 1000;
const MAX_BATCH_BYTES = 4_000_000;
const COMMIT_TIMEOUT_MS = 30_000;
/** Older events share a partition. */
const MAX_PARTITIONS_MS = 10 * 365 * DAY_MS;

/**
 * Copies a journal to PostgreSQL, compares both, and opens the database for the service. A migration that ended early
 * continues where it was. Rejects with a `ConfigError` if a side cannot be used, or if they differ.
 */
export async function migrateJournal(options: MigrationOptions): Promise<MigratedTable[]> {
  const { folder, url, log } = options;
  const journal = openJournalFile(folder);
  const database = createDatabase({ url, maxConnections: 2, commitTimeoutMs: COMMIT_TIMEOUT_MS, log });
  let others: ReturnType<MigrationOptions["openOthers"]> | undefined;
  try {
    others = options.openOthers(folder);
    return await migrateInto(database, journal.database, { ...options, others: others.sources });
  } catch (error) {
    throw error instanceof ConfigError ? error : toConfigError(error);
  } finally {
    await database.close();
    others?.close();
    journal.database.close();
    journal.release();
  }
}

function toConfigError(error: unknown): unknown {
  return error instanceof JournalUnavailable ? new ConfigError([{ key: "--to", message: error.message }]) : error;
}

async function migrateInto(
  database: PostgresDatabase,
  journal: Database,
  { others, onProgress }: Pick<MigrationOptions, "onProgress"> & { others: Source[] },
): Promise<MigratedTable[]> {
  const sources = [...journalSources(journal), ...others];
  // Without it, a wrong URL is tried again for the whole commit timeout.
  await database.read(({ get }) => get("SELECT 1"));
  await createTables(database);
  const progress = await beginMigration(database, markJournal(journal), sources);
  const oldest = readOldest(journal);
  if (oldest !== undefined) {
    // Retention can drop the partitions of old events.
    const [now, since] = [Date.now(), Math.max(oldest, Date.now() - MAX_PARTITIONS_MS)];
    await database.transact((sql) => addPartitions(sql, now, since));
  }
  for (const source of sources) await copySource(database, source, progress.get(source.name), onProgress);
  const tables = await compare(database, sources, onProgress);
  // First: if this ends in between, another migration finishes it, but no service starts on both.
  journal.run("UPDATE migration SET is_done = 1");
  await finishMigration(database, {
    lastSeq: integer(journal.get("SELECT last_seq FROM totals")?.last_seq),
    signingKey: readSigningKey(journal),
    publishing: journal.get("SELECT * FROM publishing") ?? {},
  });
  return tables;
}

/**
 * Marks the journal as one that no service has opened since: a service removes the mark. An unfinished migration of the
 * same journal has left one.
 */
function markJournal(journal: Database): string {
  const known = journal.get("SELECT id FROM migration");
  if (known) return text(known.id);
  const mark = createId();
  journal.run("INSERT INTO migration (id, is_done) VALUES (?, 0)", mark);
  return mark;
}

async function copySource(
  database: PostgresDatabase,
  source: Source,
  { position, rows: done }: Progress = { position: undefined, rows: 0 },
  onProgress: MigrationOptions["onProgress"],
): Promise<void> {
  const { name } = source;
  const total = countRows(source);
  let rows = done;
  let writing = Promise.resolve();
  // The next batch is read while the database writes the one before it.
  for await (const copied of readBatches(source, position)) {
    await writing;
    writing = write(copied);
    // Its failure is that of the next batch.
    writing.catch(() => undefined);
  }
  await writing;

  async function write(copied: Copied): Promise<void> {
    await writeRows(database, name, copied);
    rows += copied.read;
    onProgress({ step: "copying", table: name, rows, total });
  }
}

/** After these, the answers of the database are read. */
const ROWS_A_TURN = 50;

async function* readBatches(source: Source, after: Position | undefined): AsyncGenerator<Copied> {
  let batch: Copied = { rows: [], read: 0, from: after, to: after };
  let bytes = 0;
  for (const { rows, position } of readRows(source, after)) {
    batch.rows.push(...rows);
    batch.read += 1;
    batch.to = position;
    bytes += sizeOf(rows.map(({ values }) => values));
    if (batch.read >= MAX_BATCH_ROWS || bytes >= MAX_BATCH_BYTES) {
      yield batch;
      batch = { rows: [], read: 0, from: position, to: position };
      bytes = 0;
    } else if (batch.read % ROWS_A_TURN === 0) await nextTurn();
  }
  if (batch.read > 0) yield batch;
}

/** Reads both sides again, whole. */
async function compare(
  database: PostgresDatabase,
  sources: Source[],
  onProgress: MigrationOptions["onProgress"],
): Promise<MigratedTable[]> {
  const expected = sumSources(sources, onProgress);
  const tables: MigratedTable[] = [];
  const problems: { key: string; message: string }[] = [];
  for (const table of TARGET_TABLES) {
    const { rows: total, sum } = expected.get(table) ?? { rows: 0, sum: 0n };
    let rows = 0;
    const found = await checksumTable(database, table, (more) => {
      rows += more;
      onProgress({ step: "comparing", table, rows, total });
    });
    tables.push({ table, rows: found.rows, checksum: formatChecksum(found) });
    if (found.rows !== total) problems.push(differ(table, `${total} rows in the file, ${found.rows} in the database`));
    else if (found.sum !== sum) problems.push(differ(table, "the checksums differ"));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return tables;
}

function differ(table: string, how: string): { key: string; message: string } {
  const message = `hookline.${table} is not as in the file (${how}): remove everything with DROP SCHEMA hookline CASCADE, and migrate again`;
  return { key: "--to", message };
}

function sumSources(sources: Source[], onProgress: MigrationOptions["onProgress"]): Map<string, Checksum> {
  const sums = new Map<string, Checksum>();
  for (const source of sources) {
    const total = countRows(source);
    let count = 0;
    for (const { rows } of readRows(source)) {
      if (++count % MAX_BATCH_ROWS === 0) onProgress({ step: "reading", table: source.name, rows: count, total });
      for (const { table, values } of rows) {
        const checksum = sums.get(table) ?? { rows: 0, sum: 0n };
        sums.set(table, checksum);
        addRow(checksum, values);
      }
    }
  }
  return sums;
}
