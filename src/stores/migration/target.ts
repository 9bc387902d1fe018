import { hash } from "node:crypto";
import { ConfigError } from "../../core/errors.ts";
import type { PostgresDatabase, Sql } from "../postgres/database.ts";
import { MIGRATION_TABLE } from "../postgres/schema.ts";
import { Batch } from "../postgres/transaction.ts";
import { toPostgresText } from "../postgres/text.ts";
import { integer, optional, type Row, text } from "../../core/journal/columns.ts";
import type { Position, Source, TargetRow } from "./source.ts";

/** The progress of copying a source. */
export interface Progress {
  position: Position | undefined;
  rows: number;
}

/** Rows that were read from a source, up to a position. */
export interface Copied {
  rows: TargetRow[];
  read: number;
  from: Position | undefined;
  to: Position | undefined;
}

/** The tables that a migration fills. */
export const TARGET_TABLES = [
  "events",
  "event_states",
  "bodies",
  "answers",
  "notes",
  "runs",
  "run_starts",
  "pauses",
  "joined_events",
  "steps",
  "failed_attempts",
  "approvals",
  "approval_codes",
  "buttons",
  "entries",
  "sessions",
  "deliveries",
  "routes",
  "sent_messages",
  "idempotency_keys",
  "state",
  "spend",
  "tallies",
  "publications",
  "publication_types",
  "subscriptions",
  "mail_folders",
  "mail_known",
  "mail_set_aside",
  "mail_refresh_tokens",
] as const;

/** Tables whose rows PostgreSQL numbers. */
const NUMBERED = ["runs", "entries", "deliveries", "routes", "publications", "mail_known"];

/**
 * Begins a migration, or continues the one of this journal. While its table exists, no node starts on the database. Throws a
 * `ConfigError` if the database holds anything else.
 */
export async function beginMigration(
  database: PostgresDatabase,
  journal: string,
  sources: Source[],
): Promise<Map<string, Progress>> {
  return database.transact(async (sql) => {
    await sql.run("SELECT pg_advisory_xact_lock(hashtextextended('hookline migration', 0))");
    const isBegun = (await sql.get("SELECT to_regclass($1)::text AS name", [MIGRATION_TABLE]))?.name !== null;
    if (!isBegun) {
      await requireEmpty(sql);
      await sql.run(`CREATE TABLE ${MIGRATION_TABLE} (
        source text PRIMARY KEY, journal text NOT NULL, position text, copied bigint NOT NULL)`);
    }
    for (const { name } of sources) {
      const values = [name, journal];
      await sql.run(`INSERT INTO ${MIGRATION_TABLE} VALUES ($1, $2, NULL, 0) ON CONFLICT DO NOTHING`, values);
    }
    const rows = await sql.all(`SELECT * FROM ${MIGRATION_TABLE}`);
    if (rows.some((row) => row.journal !== journal)) throw refuse(OTHER_JOURNAL);
    return new Map(rows.map((row) => [text(row.source), toProgress(row)]));
  });
}

function toProgress({ position, copied }: Row): Progress {
  const stored = optional(text, position);
  return { position: stored === undefined ? undefined : JSON.parse(stored), rows: integer(copied) };
}

async function requireEmpty({ get }: Sql): Promise<void> {
  if (await get("SELECT 1 FROM hookline.nodes WHERE until > hookline.now_ms()")) {
    throw refuse("a service runs on this database: stop it first");
  }
  for (const table of TARGET_TABLES) {
    if (await get(`SELECT 1 FROM hookline.${table} LIMIT 1`)) {
      throw refuse(`the database is not empty (hookline.${table}): ${ANEW}`);
    }
  }
}

const ANEW = "name another one, or remove everything in it with DROP SCHEMA hookline CASCADE";

const OTHER_JOURNAL =
  "the database holds an unfinished migration of another journal, or of this one before the service was started again: " +
  ANEW;

function refuse(message: string): ConfigError {
  return new ConfigError([{ key: "--to", message }]);
}

/** Stores rows, and how far their source is copied, in one commit. */
export async function writeRows(database: PostgresDatabase, source: string, copied: Copied): Promise<void> {
  const [from, to] = [copied.from, copied.to].map((position) => (position ? JSON.stringify(position) : null));
  await database.transact(async (sql, { isRepeated }) => {
    const changed = await sql.run(
      `UPDATE ${MIGRATION_TABLE} SET position = $2, copied = copied + $3
       WHERE source = $1 AND position IS NOT DISTINCT FROM $4`,
      [source, to, copied.read, from],
    );
    if (changed === 0) {
      const row = await sql.get(`SELECT position FROM ${MIGRATION_TABLE} WHERE source = $1`, [source]);
      if (isRepeated && row?.position === to) return;
      throw refuse("another process migrates into this database");
    }
    const batch = new Batch();
    for (const [table, rows] of Map.groupBy(copied.rows, (row) => row.table)) {
      batch.add(`new_${table}`, rows.map(toValues), INSERT.replaceAll("$table", table));
    }
    await batch.run(sql, "1");
  });
}

const INSERT = `
  INSERT INTO hookline.$table OVERRIDING SYSTEM VALUE
  SELECT * FROM json_populate_recordset(NULL::hookline.$table, $rows)`;

function toValues({ values }: TargetRow): object {
  return toStored(values);
}

/** Reads a table of the database, whole. */
export async function checksumTable(
  database: PostgresDatabase,
  table: string,
  onRows: (count: number) => void,
): Promise<Checksum> {
  return database.transact(async ({ run, all }) => {
    const checksum: Checksum = { rows: 0, sum: 0n };
    await run(`DECLARE everything NO SCROLL CURSOR FOR SELECT * FROM hookline.${table}`);
    const fetch = (size: number): Promise<Row[]> => all(`FETCH ${size} FROM everything`);
    let fetching = fetch(FIRST_FETCH_ROWS);
    for (let size = FIRST_FETCH_ROWS; ;) {
      const rows = await fetching;
      if (rows.length === 0) return checksum;
      size = sizeOf(rows) > MAX_FETCH_BYTES ? Math.ceil(size / 2) : Math.min(size * 2, MAX_FETCH_ROWS);
      // The database reads the next rows meanwhile.
      fetching = fetch(size);
      for (const row of rows) addRow(checksum, row);
      onRows(rows.length);
    }
  });
}

const FIRST_FETCH_ROWS = 16;
const MAX_FETCH_ROWS = 2048;
const MAX_FETCH_BYTES = 2_000_000;

/** About how much memory rows take. */
export function sizeOf(rows: Row[]): number {
  const lengths = rows.flatMap((row) => Object.values(row).map((value) => (isLong(value) ? value.length : 8)));
  return lengths.reduce((sum, length) => sum + length, 0);
}

function isLong(value: Row[string]): value is string | Uint8Array {
  return typeof value === "string" || value instanceof Uint8Array;
}

/** Opens the database for the service, which has the journal's key. New rows get higher numbers than any before. */
export async function finishMigration(
  database: PostgresDatabase,
  { lastSeq, signingKey, publishing }: { lastSeq: number; signingKey: Uint8Array; publishing: Row },
): Promise<void> {
  await database.transact(async (sql) => {
    await sql.run("UPDATE hookline.signing_key SET key = $1", [Buffer.from(signingKey)]);
    // Cursors stay valid: it is the same store at another place.
    const { store_id: storeId, position, swept, swept_id: sweptId, version } = publishing;
    await sql.run(
      "UPDATE hookline.publishing SET store_id = $1, position = $2, swept = $3, swept_id = $4, version = $5",
      [text(storeId), integer(position), integer(swept), text(sweptId), integer(version)],
    );
    for (const table of NUMBERED) {
      await sql.run(
        `SELECT setval(pg_get_serial_sequence($1, 'seq'), greatest($2, max(seq), 1)) FROM hookline.${table}`,
        [`hookline.${table}`, lastSeq],
      );
    }
    await sql.run(`DROP TABLE IF EXISTS ${MIGRATION_TABLE}`);
  });
  // Without statistics, the first queries read whole tables.
  for (const table of TARGET_TABLES) await database.read(({ run }) => run(`ANALYZE hookline.${table}`));
}

/** The same for the same rows of a table, in any order. */
export interface Checksum {
  rows: number;
  /** The sum of their hashes. */
  sum: bigint;
}

export function addRow(checksum: Checksum, row: Row): void {
  checksum.rows += 1;
  checksum.sum = (checksum.sum + BigInt(`0x${hash("sha256", toText(row)).slice(0, 32)}`)) % 2n ** 128n;
}

export function formatChecksum({ sum }: Checksum): string {
  return sum.toString(16).padStart(32, "0");
}

/** A row as PostgreSQL stores it: the same from both sides. */
function toStored(row: Row): Record<string, string | number> {
  const stored: Record<string, string | number> = {};
  for (const column of Object.keys(row).toSorted()) {
    const value = row[column] ?? null;
    if (value !== null) stored[column] = toStoredValue(value);
  }
  return stored;
}

function toText(row: Row): string {
  return JSON.stringify(Object.entries(toStored(row)));
}

function toStoredValue(value: NonNullable<Row[string]>): string | number {
  if (typeof value === "string") return toPostgresText(value);
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  return Number(value);
}
