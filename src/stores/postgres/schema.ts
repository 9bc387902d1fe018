import { ConfigError } from "../../core/errors.ts";
import { integer } from "../../core/journal/columns.ts";
import { toApplicationId } from "../application-id.ts";
import type { PostgresDatabase, Sql } from "./database.ts";
import { VERSION_1 } from "./version-1.ts";

/** One per version. A released one never changes. */
export const MIGRATIONS: readonly string[] = [VERSION_1];

const APPLICATION_ID = toApplicationId(MIGRATIONS);

/** Any number that no other program takes. */
export const MIGRATION_LOCK = 7_402_615;

/** An index of a large table takes its time. Nobody waits long behind a dump or another reader of the tables. */
const MIGRATION_TIMEOUTS =
  "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '3000', true)";

export interface MigrateOptions {
  /** Whether tables of an earlier version may be changed. */
  upgrade?: boolean;
  /** For tests. */
  migrations?: readonly string[];
}

/**
 * Brings the tables to the newest version, one node at a time. Earlier programs keep running beside it, since a version
 * only adds. Throws a `ConfigError` if another program or a newer one made them, and for older ones without `upgrade`.
 */
export async function migrate(database: PostgresDatabase, options: MigrateOptions = {}): Promise<void> {
  const { upgrade = false, migrations = MIGRATIONS } = options;
  await database.transact(async (sql) => {
    // The migration of another node may take longer than anything else.
    await sql.run("SELECT set_config('lock_timeout', '0', true)");
    await sql.run("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    const version = await readVersion(sql);
    if (version === migrations.length) return;
    if (version > migrations.length) throw toVersionError(version, migrations.length);
    if (version > 0 && !upgrade) throw toUpgradeError(version);
    await sql.run(MIGRATION_TIMEOUTS);
    await sql.run("CREATE SCHEMA IF NOT EXISTS hookline");
    for (const statements of migrations.slice(version)) await runAll(sql, statements);
    const table =
      "CREATE TABLE IF NOT EXISTS hookline.version (application_id integer NOT NULL, version integer NOT NULL)";
    await sql.run(table);
    await sql.run("DELETE FROM hookline.version");
    await sql.run("INSERT INTO hookline.version VALUES ($1, $2)", [APPLICATION_ID, migrations.length]);
  });
}

/** Exists while a migration from an SQLite journal is unfinished. */
export const MIGRATION_TABLE = "hookline.migration";

/** Throws a `ConfigError` if only a part of a journal is in the database. */
export async function requireComplete(database: PostgresDatabase): Promise<void> {
  const row = await database.read(({ get }) => get("SELECT to_regclass($1)::text AS name", [MIGRATION_TABLE]));
  if (row?.name === null) return;
  const message =
    "a migration into this database is unfinished: run `npx hookline store migrate` again, or set another database";
  throw new ConfigError([{ message, key: "store.url" }]);
}

/** 0 if there are no tables. Throws a `ConfigError` if they are not this program's. */
async function readVersion(sql: Sql): Promise<number> {
  const found = await sql.get(FIND_TABLES);
  if (found?.tables === 0) return 0;
  const row = found?.is_marked === 1 ? await sql.get("SELECT * FROM hookline.version") : undefined;
  if (row?.application_id === APPLICATION_ID) return integer(row.version);
  const message =
    "the tables in the schema `hookline` are not of this program, or an unreleased version made them; " +
    "let the program that made them finish its work, then set a new database";
  throw new ConfigError([{ message, key: "store.url" }]);
}

const FIND_TABLES = `
  SELECT (SELECT count(*) FROM pg_tables WHERE schemaname = 'hookline')::integer AS tables,
    (SELECT count(*) FROM pg_attribute
     WHERE attrelid = to_regclass('hookline.version') AND attname = 'application_id')::integer AS is_marked`;

/** One statement each: a prepared text can hold only one. */
async function runAll(sql: Sql, statements: string): Promise<void> {
  for (const statement of statements.replaceAll(/--.*/g, "").split(";")) {
    if (statement.trim() !== "") await sql.run(statement);
  }
}

function toUpgradeError(version: number): ConfigError {
  const message =
    `the journal has schema version ${version} of an earlier program: run pg_dump --format=custom --schema=hookline ` +
    "--file=hookline.dump, then start with --upgrade-store, or with store.upgrade: true";
  return new ConfigError([{ message, key: "store.upgrade" }]);
}

function toVersionError(version: number, supported: number): ConfigError {
  const message =
    `the journal has schema version ${version}, but this program supports ${supported} at most; ` +
    "start the newer program, or set another database";
  return new ConfigError([{ message, key: "store.url" }]);
}
