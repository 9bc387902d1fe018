import { JournalUnavailable } from "../../errors.ts";
import { backup, DatabaseSync, type SQLOutputValue, type StatementSync } from "node:sqlite";

type SqlValue = string | number | Uint8Array | null | undefined;

/** Columns by name; `columns.ts` reads them. */
export type SqlRow = Record<string, SQLOutputValue>;

/** One connection to an SQLite file. Statements are prepared once and kept by their text. Every call blocks. */
export interface Database {
  /** Gives the number of rows that changed. */
  run(sql: string, ...values: SqlValue[]): number;
  get(sql: string, ...values: SqlValue[]): SqlRow | undefined;
  all(sql: string, ...values: SqlValue[]): SqlRow[];
  /** Several statements without values. */
  exec(sql: string): void;
  inTransaction(): boolean;
  close(): void;
}

export interface DatabaseOptions {
  /** How long a statement waits for another connection's lock, in milliseconds: the event loop waits with it. */
  busyTimeoutMs: number;
  readOnly?: boolean;
}

/** Opens an SQLite file, and creates it unless `readOnly`. */
export function openDatabase(file: string, { busyTimeoutMs, readOnly = false }: DatabaseOptions): Database {
  const connection = new DatabaseSync(file, { timeout: busyTimeoutMs, readOnly });
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
    exec: (sql) => connection.exec(sql),
    inTransaction: () => connection.isTransaction,
    close: () => connection.close(),
  };
}

const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies an SQLite file that others may be writing to, in the state of one moment: all pages in one step, a copy in several
 * would begin anew at each commit.
 */
export async function copyDatabase(file: string, target: string): Promise<void> {
  const source = new DatabaseSync(file, { readOnly: true });
  try {
    await backup(source, target, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
}

function toBound(value: SqlValue): Exclude<SqlValue, undefined> {
  return value ?? null;
}

type Column = SqlRow[string] | undefined;

/* Columns get their types here. One that holds anything else was not written by this program: each of these throws. */

export function text(column: Column): string {
  if (typeof column !== "string") throw unexpected("text", column);
  return column;
}

export function integer(column: Column): number {
  if (typeof column !== "number") throw unexpected("an integer", column);
  return column;
}

export function bytes(column: Column): Buffer {
  if (!(column instanceof Uint8Array)) throw unexpected("bytes", column);
  return Buffer.from(column.buffer, column.byteOffset, column.byteLength);
}

export function oneOf<Member extends string>(members: readonly Member[], column: Column): Member {
  const found = members.find((member) => member === column);
  if (found === undefined) throw unexpected(members.join(" or "), column);
  return found;
}

/** NULL is undefined outside; anything else is read by `read`. */
export function optional<Value>(read: (column: Column) => Value, column: Column): Value | undefined {
  return column === null ? undefined : read(column);
}

function unexpected(expected: string, column: Column): TypeError {
  return new TypeError(`a table holds ${typeof column} where it keeps ${expected}`);
}

/** SQLite's primary result code, the low byte of the extended one; 0 for errors that are not SQLite's. */
function resultCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}

export interface Lock {
  release(): void;
}

/** SQLite's result code for a file that another connection has locked. */
const LOCKED = 5;

/**
 * Takes a file for this process alone; undefined where another process has it. The lock is SQLite's own: the system
 * releases it when the process ends, however it ends. Waits `waitMs` for a predecessor, and the event loop waits with it.
 * Throws where the file cannot be made or opened.
 */
export function takeLock(file: string, waitMs: number): Lock | undefined {
  const database = openDatabase(file, { busyTimeoutMs: waitMs });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (resultCode(error) === LOCKED) return undefined;
    throw error;
  }
}

/** SQLite's primary result codes that speak of the storage, not of the statement. */
const STORAGE_CODES = new Map([
  [5, "it is locked by another process"],
  [6, "it is locked"],
  [7, "memory is short"],
  [8, "it is read-only"],
  [10, "the disk reports an error"],
  [11, "the file is damaged"],
  [13, "the disk is full"],
  [14, "the file cannot be opened"],
  [15, "its lock cannot be taken"],
  [26, "the file is no database"],
]);

/** The error as a `JournalUnavailable` where the storage is to blame, else undefined. */
export function toUnavailable(error: unknown): JournalUnavailable | undefined {
  const reason = STORAGE_CODES.get(resultCode(error));
  return reason === undefined
    ? undefined
    : new JournalUnavailable(`the journal cannot be used: ${reason}`, { cause: error });
}
