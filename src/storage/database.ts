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
