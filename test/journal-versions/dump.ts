import type { DatabaseSync, SQLOutputValue } from "node:sqlite";

/** The whole file as SQL text. Triggers come last, because the rows already contain their effects. */
export function dump(database: DatabaseSync): { version: number; sql: string } {
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  const objects = readObjects(database);
  const tables = objects.filter(({ type }) => type === "table");
  const lines = [
    "PRAGMA auto_vacuum = INCREMENTAL;",
    "BEGIN;",
    ...tables.map(({ sql }) => `${sql};`),
    ...tables.flatMap(({ name }) => toInserts(database, name)),
    ...objects.filter(({ type }) => type !== "table").map(({ sql }) => `${sql};`),
    `PRAGMA user_version = ${version};`,
    "COMMIT;",
  ];
  return { version, sql: `${lines.join("\n")}\n` };
}

/** Tables, views, indexes and triggers by name. */
export function readObjects(database: DatabaseSync): { type: string; name: string; sql: string }[] {
  const rows = database
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
    .all();
  return rows.map(({ type, name, sql }) => ({ type: String(type), name: String(name), sql: String(sql) }));
}

function toInserts(database: DatabaseSync, table: string): string[] {
  const rows = database.prepare(`SELECT * FROM ${table}`).all();
  return rows.map((row) => `INSERT INTO ${table} VALUES (${Object.values(row).map(toLiteral).join(", ")});`);
}

function toLiteral(value: SQLOutputValue): string {
  if (value === null) return "NULL";
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString("hex")}'`;
  return String(value);
}
