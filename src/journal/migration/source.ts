import type { Row } from "../rows.ts";
import { storable } from "../postgres/transaction.ts";
import type { Database } from "../sqlite/database.ts";

/** Rows of an SQLite table, in the order of a key, and what they become in PostgreSQL. */
export interface Source {
  /** Unique among all sources. */
  name: string;
  database: Database;
  /** A SELECT without WHERE and ORDER BY. */
  select: string;
  /** The table, and which of its rows; default: all. */
  table: string;
  where?: string;
  key: string[];
  toRows(row: Row): TargetRow[];
}

export interface TargetRow {
  table: string;
  /** By column. */
  values: Row;
}

/** Of a row in its source. */
export type Position = (string | number)[];

/** A source whose rows stay as they are, unless `change` adds to them. */
export function copyOf(
  database: Database,
  table: string,
  { key, to = table, change = (row) => row }: { key: string[]; to?: string; change?(row: Row): Row },
): Source {
  const toRows = (row: Row): TargetRow[] => [{ table: to, values: change(row) }];
  return { name: table, database, select: `SELECT * FROM ${table}`, table, key, toRows };
}

export function countRows({ database, table, where = "true" }: Source): number {
  return Number(database.get(`SELECT count(*) AS count FROM ${table} WHERE ${where}`)?.count);
}

/** What is behind a position, a row at a time. */
export function* readRows(source: Source, after?: Position): Generator<{ rows: TargetRow[]; position: Position }> {
  const { database, select, where = "true", key } = source;
  const isBehind = after ? `(${key.join()}) > (${key.map(() => "?").join()})` : "true";
  const sql = `${select} WHERE ${where} AND ${isBehind} ORDER BY ${key.join()}`;
  for (const row of database.each(sql, ...(after ?? []))) {
    const position = positionOf(source, row);
    yield { rows: hasTwin(source, position) ? [] : source.toRows(row), position };
  }
}

function positionOf({ name, key }: Source, row: Row): Position {
  return key.map((column) => {
    const value = row[column.split(".").at(-1) ?? ""];
    if (typeof value === "string" || typeof value === "number") return value;
    throw new TypeError(`${name} has a row without ${column}`);
  });
}

/** PostgreSQL cannot store NUL. A key that contains it becomes another one, which can be there already. */
function hasTwin({ database, table, key }: Source, position: Position): boolean {
  const stored = position.map((value) => (typeof value === "string" ? storable(value) : value));
  if (stored.every((value, index) => value === position[index])) return false;
  const sql = `SELECT 1 FROM ${table} WHERE (${key.join()}) = (${key.map(() => "?").join()})`;
  return database.get(sql, ...stored) !== undefined;
}
