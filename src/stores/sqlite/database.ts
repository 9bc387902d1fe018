import { backup, DatabaseSync, type StatementSync } from "node:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";
import { ConfigError, JournalUnavailable, messageOf } from "../../core/errors.ts";
import { integer, type Row } from "../../core/journal/columns.ts";
import { toApplicationId } from "../application-id.ts";

type SqlValue = string | number | Uint8Array | null | undefined;

/**
 * One connection to an SQLite file. Statements are prepared once and cached by their text. Every call blocks.
 *
 * Statements of the request path avoid what is slow in SQLite: with `LIMIT ?` it compiles the statement again at each call
 * (not with `LIMIT +?`), and `RETURNING`, `IN (SELECT …)` and sorting create a temporary table each time.
 */
export interface Database {
  /** Gives the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): number;
  get(sql: string, ...values: SqlValue[]): Row | undefined;
  all(sql: string, ...values: SqlValue[]): Row[];
  /** Reads a row at a time. The statement must not run again before the last row. */
  each(sql: string, ...values: SqlValue[]): Iterable<Row>;
  /** Several statements without values. */
  exec(sql: string): void;
  inTransaction(): boolean;
  close(): void;
}

export interface DatabaseOptions {
  /** How long a statement waits for another connection's lock, in milliseconds; it blocks the event loop. */
  busyTimeoutMs: number;
  readOnly?: boolean;
  /** Functions of its SQL, by name. */
  functions?: Record<string, (value: unknown) => number>;
}

/** Opens an SQLite file, and creates it unless `readOnly`, readable by its owner alone. */
export function openDatabase(
  file: string,
  { busyTimeoutMs, readOnly = false, functions = {} }: DatabaseOptions,
): Database {
  if (!readOnly) createPrivately(file);
  const connection = new DatabaseSync(file, { timeout: busyTimeoutMs, readOnly });
  for (const [name, call] of Object.entries(functions)) connection.function(name, call);
  const statements = new Map<string, StatementSync>();

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known) return known;
    const statement = connection.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  return {
    run: (sql, ...values) => Number(prepare(sql).run(...values.map(toBound)).changes),
    get: (sql, ...values) => prepare(sql).get(...values.map(toBound)),
    all: (sql, ...values) => prepare(sql).all(...values.map(toBound)),
    each: (sql, ...values) => prepare(sql).iterate(...values.map(toBound)),
    exec: (sql) => connection.exec(sql),
    inTransaction: () => connection.isTransaction,
    close: () => connection.close(),
  };
}

/** SQLite gives the files beside it the same permissions. */
export function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch {
    // The file exists, or SQLite will say why it cannot be created.
  }
}

function toBound(value: SqlValue): Exclude<SqlValue, undefined> {
  return value ?? null;
}

export interface Schema {
  /** For error messages. */
  what: string;
  /** One per version; `user_version` is the number of those applied. A released one never changes. */
  migrations: readonly string[];
  /** For each connection. */
  pragmas: string;
  /** After how many bytes of the write-ahead log its pages are copied to the file. Default: SQLite's. */
  logBytes?: number;
}

/** How long a write waits for another process's lock. Short, since it blocks the event loop. */
const BUSY_TIMEOUT_MS = 100;

/** Copies the file of this version before it is changed. Throws if it must stay as it is. */
export type BeforeMigration = (database: Database, file: string, version: number) => void;

/**
 * Opens a file and migrates it to the last version. Throws a `ConfigError` if another program or a newer one wrote it, or what
 * `before` throws; then the file is as it was.
 */
export function openMigrated(file: string, schema: Schema, before: BeforeMigration = refuseOlder): Database {
  // Over a read-only connection, so that such a file is not touched.
  if (existsSync(file))
    openPrepared(file, { readOnly: true }, (database) => requireOwn(database, file, schema)).close();
  return openPrepared(file, {}, (database) => {
    // Retention needs it to free pages. It has to be set before the first table, and would be a write on an old file.
    if (readPragma(database, "user_version") === 0) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec(schema.pragmas);
    if (schema.logBytes !== undefined) {
      const pages = Math.round(schema.logBytes / readPragma(database, "page_size"));
      database.exec(`PRAGMA wal_autocheckpoint = ${pages}`);
    }
    const version = readPragma(database, "user_version");
    if (version > 0 && version < schema.migrations.length) before(database, file, version);
    migrate(database, schema);
  });
}

/** Refuses a file of an earlier version: only a start of the service migrates it. */
function refuseOlder(_: Database, file: string, version: number): never {
  const message = `the file has schema version ${version} of an earlier program: start the service on it once, which copies and migrates it`;
  throw new ConfigError([{ message, file, key: "store.path" }]);
}

/** All in one transaction. If it throws, closing the file undoes it. */
function migrate(database: Database, { migrations }: Schema): void {
  if (readPragma(database, "user_version") === migrations.length) return;
  database.exec("BEGIN IMMEDIATE");
  // Read again: another process may have migrated the file meanwhile.
  const version = readPragma(database, "user_version");
  for (const migration of migrations.slice(version)) database.exec(migration);
  database.exec(`
    PRAGMA application_id = ${toApplicationId(migrations)};
    PRAGMA user_version = ${migrations.length};
    COMMIT`);
}

/** Throws a `ConfigError` unless the file is empty, or has a version of the schema that this program knows. */
function requireOwn(database: Database, file: string, { what, migrations }: Schema): void {
  const refuse = (message: string): ConfigError => new ConfigError([{ message, file, key: "store.path" }]);
  if (readPragma(database, "application_id") !== toApplicationId(migrations)) {
    if (!database.get("SELECT 1 FROM sqlite_schema")) return;
    throw refuse(
      `this file is not a ${what} of this program, or an unreleased version wrote it; ` +
        "let the program that wrote it finish its work, then set a new folder",
    );
  }
  const version = readPragma(database, "user_version");
  if (version <= migrations.length) return;
  throw refuse(
    `the ${what} has schema version ${version}, but this program supports ${migrations.length} at most; ` +
      "start the newer program, or set another folder",
  );
}

function readPragma(database: Database, name: "application_id" | "page_size" | "user_version"): number {
  return integer(database.get(`PRAGMA ${name}`)?.[name]);
}

function openPrepared(file: string, options: { readOnly?: boolean }, work: (database: Database) => void): Database {
  const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS, ...options });
  try {
    work(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Runs the work in a transaction: all of it is committed, or nothing. */
export function transact<Result>(database: Database, work: () => Result): Result {
  try {
    database.run("BEGIN IMMEDIATE");
    const result = work();
    database.run("COMMIT");
    return result;
  } catch (error) {
    // After a full disk or a failed write SQLite has already rolled back.
    if (database.inTransaction()) database.run("ROLLBACK");
    throw error;
  }
}

/**
 * The damage that SQLite finds in a file, to which others may be writing; undefined if there is none. Reads all of it.
 */
export function findDamage(file: string): string | undefined {
  try {
    const database = openDatabase(file, { busyTimeoutMs: BUSY_TIMEOUT_MS, readOnly: true });
    const found = database.get("PRAGMA quick_check(1)")?.quick_check;
    database.close();
    return found === "ok" ? undefined : String(found);
  } catch (error) {
    return messageOf(error);
  }
}

const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies an SQLite file, which others may be writing to, as of one point in time: all pages in one step, since a copy in
 * several steps restarts at each commit.
 */
export async function copyDatabase(file: string, target: string): Promise<void> {
  const source = new DatabaseSync(file, { readOnly: true });
  try {
    await backup(source, target, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
}

export interface Lock {
  release(): void;
}

/**
 * Locks a file for this process alone; undefined if another process holds it. The lock is SQLite's own: the system
 * releases it when the process ends in any way. Waits `waitMs` for it, and blocks the event loop. Throws if the file
 * cannot be created or opened.
 */
export function takeLock(file: string, waitMs: number): Lock | undefined {
  const database = openDatabase(file, { busyTimeoutMs: waitMs });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (resultCode(error) === BUSY) return undefined;
    throw error;
  }
}

const BUSY = 5;
const FULL = 13;

/** SQLite's primary result codes that concern the storage, not the statement. */
const STORAGE_CODES = new Map([
  [BUSY, "it is locked by another process"],
  [6, "it is locked"],
  [7, "out of memory"],
  [8, "it is read-only"],
  [10, "the disk reports an error"],
  [11, "the file is damaged"],
  [FULL, "the disk is full"],
  [14, "the file cannot be opened"],
  [15, "its lock cannot be taken"],
  [26, "the file is not a database"],
]);

/** The error as a `JournalUnavailable` if the storage caused it, else undefined. */
export function toUnavailable(error: unknown): JournalUnavailable | undefined {
  if (error instanceof JournalUnavailable) return error;
  const reason = STORAGE_CODES.get(resultCode(error));
  if (reason === undefined) return undefined;
  return new JournalUnavailable(`the journal cannot be used: ${reason}`, { cause: error });
}

export function isDiskFull(error: unknown): boolean {
  return resultCode(error) === FULL;
}

/** The low byte of the extended result code; 0 for errors that are not SQLite's. */
function resultCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}
