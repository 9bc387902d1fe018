import { toPostgresText } from "../postgres/text.ts";
import { optional, type Row, text } from "../../core/journal/columns.ts";
import type { Database } from "../sqlite/database.ts";
import { ENTRIES, RUNS } from "../sqlite/read.ts";

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

/** The place of a row in its source: the values of its key. */
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

/** Rows behind a position, one at a time. */
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
  const stored = position.map((value) => (typeof value === "string" ? toPostgresText(value) : value));
  if (stored.every((value, index) => value === position[index])) return false;
  const sql = `SELECT 1 FROM ${table} WHERE (${key.join()}) = (${key.map(() => "?").join()})`;
  return database.get(sql, ...stored) !== undefined;
}

/** The tables of a journal. */
export function journalSources(database: Database): Source[] {
  return [
    {
      name: "events",
      database,
      select: "SELECT events.*, body FROM events LEFT JOIN bodies ON event_seq = seq",
      table: "events",
      key: ["seq"],
      toRows: toEventRows,
    },
    {
      name: "entries",
      database,
      select: `SELECT * FROM ${ENTRIES}`,
      table: "entries",
      key: ["seq"],
      toRows: toEntryRows,
    },
    { name: "runs", database, select: `SELECT * FROM ${RUNS}`, table: "runs", key: ["seq"], toRows: toRunRows },
    {
      name: "joined_events",
      database,
      select: SELECT_JOINED,
      table: "joined_events",
      key: ["joined.run_seq", "joined.place"],
      toRows: toJoinedRows,
    },
    copyOf(database, "answers", { key: ["event_id"] }),
    copyOf(database, "steps", { key: ["run_id", "n"] }),
    copyOf(database, "failed_attempts", { key: ["work_id", "n"] }),
    copyOf(database, "approvals", { key: ["seq"], change: withoutSeq }),
    copyOf(database, "approval_codes", { key: ["code"] }),
    copyOf(database, "buttons", { key: ["hash"] }),
    copyOf(database, "pauses", { key: ["mapping"] }),
    copyOf(database, "run_starts", { key: ["mapping", "started_at", "run_seq"] }),
    copyOf(database, "sessions", { key: ["key"] }),
    copyOf(database, "deliveries", { key: ["seq"], change: (row) => ({ ...row, edits: row.edits ?? 0 }) }),
    copyOf(database, "routes", { key: ["seq"] }),
    copyOf(database, "sent_messages", { key: ["id", "channel"] }),
    copyOf(database, "idempotency_keys", { key: ["scope", "key"], change: withEventId }),
    copyOf(database, "notes", { key: ["kind", "key"] }),
    copyOf(database, "state", { key: ["name", "key"] }),
    copyOf(database, "publications", { key: ["seq"] }),
    copyOf(database, "publication_types", { key: ["name"] }),
    copyOf(database, "subscriptions", { key: ["id"] }),
    copyOf(database, "tallies", { key: ["at", "mapping", "what"] }),
    copyOf(database, "spend", { key: ["hour", "session_key", "hook", "mapping", "model"] }),
  ];
}

/** When the oldest event was received, by its id; undefined without events. */
export function readOldest(database: Database): number | undefined {
  const id = optional(text, database.get("SELECT min(id) AS id FROM events")?.id ?? null);
  return id === undefined ? undefined : Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}

function toEventRows(row: Row): TargetRow[] {
  const { id = null, detail = null, body = null, seq: _, ...state } = row;
  const bodies = body === null ? [] : [{ table: "bodies", values: { event_id: id, body } }];
  return [{ table: "events", values: { id, detail } }, { table: "event_states", values: { id, ...state } }, ...bodies];
}

function toEntryRows(row: Row): TargetRow[] {
  const { event_seq: _, run_seq: __, ...values } = row;
  return [{ table: "entries", values }];
}

function toRunRows(row: Row): TargetRow[] {
  const { event_seq: _, ...columns } = row;
  const windowKey = optional(text, row.coalesce_key ?? null);
  // Two that differ in NUL alone would be one in PostgreSQL. Without its key the run starts, and nothing joins it any more.
  const values: Row = { ...columns, coalesce_key: windowKey?.includes("\0") ? null : (windowKey ?? null) };
  return [{ table: "runs", values }];
}

/** An event that is deleted already has no id. */
const SELECT_JOINED = `
  SELECT joined.run_seq, joined.place, joined.message, joined.access, runs.id AS run_id,
    coalesce(events.id, '00000000-0000-0000-0000-000000000000') AS event_id
  FROM joined_events AS joined LEFT JOIN runs ON runs.seq = joined.run_seq
    LEFT JOIN events ON events.seq = joined.event_seq`;

function toJoinedRows({ run_id = null, place = null, event_id = null, message, access = null }: Row): TargetRow[] {
  const stored = optional(text, message);
  const values: Row = {
    run_id,
    place,
    event_id,
    message: stored === undefined ? null : JSON.stringify(stored),
    access,
  };
  return [{ table: "joined_events", values }];
}

function withEventId(row: Row): Row {
  const { eventId }: { eventId: string } = JSON.parse(text(row.receipt));
  return { ...row, event_id: eventId };
}

/** PostgreSQL lists approvals in the order of their ids. */
function withoutSeq({ seq: _seq, ...row }: Row): Row {
  return row;
}
