import type { Entry, EventRecord } from "../journal.ts";
import type { EventDetail as StoredDetail } from "../postgres/accept.ts";
import { toPostgresText } from "../postgres/transaction.ts";
import { bytes, integer, optional, type Row, text } from "../rows.ts";
import type { EventDetail } from "../sqlite/accept.ts";
import type { Database } from "../sqlite/database.ts";
import { readOutcome, SELECT_ENTRIES, SELECT_TURNS, SELECT_WAKE, toEntry, toTurn } from "../sqlite/entries.ts";
import { SELECT_RUNS, toRun } from "../sqlite/runs.ts";

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
  const stored = position.map((value) => (typeof value === "string" ? toPostgresText(value) : value));
  if (stored.every((value, index) => value === position[index])) return false;
  const sql = `SELECT 1 FROM ${table} WHERE (${key.join()}) = (${key.map(() => "?").join()})`;
  return database.get(sql, ...stored) !== undefined;
}

/** The tables of a journal, except its leases: the nodes of a database have their own. */
export function journalSources(database: Database): Source[] {
  return [
    {
      name: "events",
      database,
      select: "SELECT events.*, bodies.body AS wide_body FROM events LEFT JOIN bodies ON event_seq = seq",
      table: "events",
      key: ["seq"],
      toRows: toEventRows,
    },
    {
      name: "wakes",
      database,
      select: SELECT_WAKE,
      table: "events",
      // Without its index, whose order is another one.
      where: "+pending IS NOT NULL",
      key: ["seq"],
      toRows: (row) => toEntryRows([toEntry(row)]),
    },
    {
      name: "turns",
      database,
      select: SELECT_TURNS,
      table: "runs",
      where: "turn IS NOT NULL",
      key: ["runs.seq"],
      toRows: (row) => toEntryRows(toTurn(row)),
    },
    {
      name: "entries",
      database,
      select: SELECT_ENTRIES,
      table: "entries",
      key: ["entries.seq"],
      toRows: (row) => toEntryRows([toEntry(row)]),
    },
    { name: "runs", database, select: SELECT_RUNS, table: "runs", key: ["runs.seq"], toRows: toRunRows },
    {
      name: "joined_events",
      database,
      select: SELECT_JOINED,
      table: "joined_events",
      key: ["joined.run_seq", "joined.place"],
      toRows: toJoinedRows,
    },
    copyOf(database, "run_starts", { key: ["mapping", "started_at", "run_seq"] }),
    copyOf(database, "sessions", { key: ["key"] }),
    copyOf(database, "deliveries", { key: ["seq"], change: (row) => ({ ...row, edits: row.edits ?? 0 }) }),
    copyOf(database, "routes", { key: ["seq"] }),
    copyOf(database, "sent_messages", { key: ["id"] }),
    copyOf(database, "idempotency_keys", { key: ["scope", "key"], change: withEventId }),
    copyOf(database, "spend", { key: ["hour", "session_key", "hook", "mapping", "model"] }),
  ];
}

/** The number that no event, run or entry has exceeded, also those that are deleted. */
export function readLastSeq(database: Database): number {
  return integer(database.get("SELECT last_seq FROM totals")?.last_seq);
}

/** When the oldest event was received, by its id; undefined without events. */
export function readOldest(database: Database): number | undefined {
  const id = optional(text, database.get("SELECT min(id) AS id FROM events")?.id ?? null);
  return id === undefined ? undefined : Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}

function toEventRows(row: Row): TargetRow[] {
  const { id = null, hook = null, received_at = null, status = null, open = null, lost = null } = row;
  const {
    request,
    actions = [],
    warnings = [],
    log = [],
    took,
    failure,
    ...own
  }: EventDetail = JSON.parse(text(row.detail));
  const detail: StoredDetail = { request, warnings, log, took };
  const values: Row = {
    id,
    hook,
    received_at,
    mapping: own.mapping ?? null,
    event: own.event ?? null,
    reason: own.reason ?? null,
    replay_of: own.replayOf ?? null,
    credential: own.credential ?? null,
    traceparent: own.traceparent ?? null,
    actions: JSON.stringify(actions satisfies EventRecord["actions"]),
    failure: failure ? JSON.stringify(failure) : null,
    detail: JSON.stringify(detail),
  };
  const body = bytes(row.body ?? row.wide_body);
  const bodies = body.length > 0 ? [{ table: "bodies", values: { event_id: id, body } }] : [];
  const state = { id, hook, received_at, status, open, lost };
  return [{ table: "events", values }, { table: "event_states", values: state }, ...bodies];
}

function toEntryRows(entries: Entry[]): TargetRow[] {
  return entries.map((entry) => {
    const { seq, sessionKey, role, at, eventId, runId, pending, urgent, boundary, text: whole } = entry;
    const values: Row = {
      seq,
      session_key: sessionKey,
      role,
      at,
      event_id: eventId ?? null,
      run_id: runId ?? null,
      pending: Number(pending ?? false),
      urgent: Number(urgent ?? false),
      boundary: boundary === undefined ? null : JSON.stringify(boundary),
      text: whole,
    };
    return { table: "entries", values };
  });
}

function toRunRows(row: Row): TargetRow[] {
  const { action, kind } = toRun(row);
  const outcome = row.outcome === null ? null : JSON.stringify(readOutcome(row));
  const { event_seq: _, wide_action: __, body: ___, turn: ____, pending: _____, ...columns } = row;
  const windowKey = optional(text, row.coalesce_key ?? null);
  const values: Row = {
    ...columns,
    outcome,
    kind,
    action: action ? JSON.stringify(action) : null,
    // Two that differ in NUL alone would be one in PostgreSQL. Without its key the run starts, and nothing joins it any more.
    coalesce_key: windowKey?.includes("\0") ? null : (windowKey ?? null),
  };
  return [{ table: "runs", values }];
}

/** An event that is deleted already has no id. */
const SELECT_JOINED = `
  SELECT joined.run_seq, joined.place, joined.message, runs.id AS run_id,
    coalesce(events.id, '00000000-0000-0000-0000-000000000000') AS event_id
  FROM joined_events AS joined LEFT JOIN runs ON runs.seq = joined.run_seq
    LEFT JOIN events ON events.seq = joined.event_seq`;

function toJoinedRows({ run_id = null, place = null, event_id = null, message }: Row): TargetRow[] {
  const stored = optional(text, message);
  const values: Row = { run_id, place, event_id, message: stored === undefined ? null : JSON.stringify(stored) };
  return [{ table: "joined_events", values }];
}

function withEventId(row: Row): Row {
  const { eventId }: { eventId: string } = JSON.parse(text(row.receipt));
  return { ...row, event_id: eventId };
}
