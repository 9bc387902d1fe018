import type { Reader, ReadTables } from "../../core/journal/reads/reader.ts";
import { done, type Writer, type WriteValue } from "../../core/journal/writes/writer.ts";
import type { JournalStats, Run } from "../../core/journal/journal.ts";
import { integer, type Row, text } from "../../core/journal/columns.ts";
import { byArrival } from "../../core/journal/rows.ts";
import type { Database } from "./database.ts";
import { MAX_JOINED_MESSAGES } from "../../core/journal/plan.ts";

/** Rows for `toRun`. */
export const RUNS = `(
  SELECT runs.*, run_actions.action, events.id AS event_id, events.hook
  FROM runs LEFT JOIN run_actions ON run_seq = runs.seq LEFT JOIN events ON events.seq = event_seq) AS runs`;

/** Rows for `toEntry`. */
export const ENTRIES = `(
  SELECT entries.*, events.id AS event_id, runs.id AS run_id
  FROM entries LEFT JOIN events ON events.seq = entries.event_seq LEFT JOIN runs ON runs.seq = run_seq) AS entries`;

/** Whether the event of a row of `idempotency_keys` is not done. */
export const IS_UNFINISHED_KEY = `EXISTS (
  SELECT 1 FROM events WHERE id = idempotency_keys.receipt ->> 'eventId' AND status = 'accepted')`;

export const TABLES: ReadTables = {
  states: "events",
  events: "events",
  runs: RUNS,
  deadRuns: `(
    SELECT runs.*, events.id AS event_id, hook
    FROM runs INDEXED BY runs_dead LEFT JOIN events ON events.seq = event_seq WHERE state = 'dead' AND kind = 'hook') AS runs`,
  failedDeliveries: "deliveries INDEXED BY deliveries_failed",
  failedRequests: "events INDEXED BY events_failed",
  entries: ENTRIES,
  isOfEvents: "event_seq IN (SELECT seq FROM events WHERE id = ANY($1))",
  mainTurns: "entries INDEXED BY entries_main_turns",
  mappingOf: "detail ->> '$.mapping'",
  order: "seq",
  body: "SELECT body FROM events JOIN bodies ON event_seq = seq WHERE id = $1",
  isJoined: `EXISTS (SELECT 1 FROM joined_events AS joined JOIN events AS own ON own.seq = joined.event_seq
    WHERE joined.run_seq = runs.seq AND own.id = $2)`,
  isUnfinishedKey: IS_UNFINISHED_KEY,
  emptySession: `
    SELECT session_key AS key, created_at, created_at AS updated_at, 0 AS entries FROM runs
    WHERE session_key = $1 AND finished_at IS NULL
    UNION ALL
    SELECT session_key, created_at, created_at, 0 FROM runs INDEXED BY runs_dead
    WHERE session_key = $1 AND state = 'dead' AND kind = 'hook'
    LIMIT 1`,
};

/** Nothing is committed between the statements of one read: each of its promises is resolved already. */
export function createReader(database: Database): Reader {
  return {
    all: async (sql, values = []) => database.all(translate(sql), ...values.map(toValue)),
    get: async (sql, values = []) => database.get(translate(sql), ...values.map(toValue)),
    clockOffsetMs: 0,
    tables: TABLES,
    withJoined: async (runs) => runs.map((run) => withJoined(database, run)),
  };
}

const translated = new Map<string, string>();

/** A statement of PostgreSQL in SQLite's words: no schema, no types, no locks, numbered values, lists as JSON. */
export function translate(sql: string): string {
  const known = translated.get(sql);
  if (known !== undefined) return known;
  const own = sql
    .replaceAll("hookline.", "")
    .replaceAll("chr(", "char(")
    .replaceAll(/::\w+(\[\])?/g, "")
    .replaceAll(/ FOR (?:UPDATE|SHARE|KEY SHARE)(?: SKIP LOCKED)?/g, "")
    .replaceAll(/= ANY ?\((\$\d)\)/g, "IN (SELECT value FROM json_each($1))")
    .replaceAll(/<> ALL ?\((\$\d)\)/g, "NOT IN (SELECT value FROM json_each($1))")
    .replaceAll(/\$(\d)/g, "?$1");
  translated.set(sql, own);
  return own;
}

export function toValue(value: WriteValue): string | number | null | undefined {
  if (typeof value === "boolean") return Number(value);
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

/** Runs a statement of PostgreSQL. */
export function runTranslated({ run }: Database, sql: string, values: WriteValue[] = []): number {
  return run(translate(sql), ...values.map(toValue));
}

/** For the writes of both stores that only change rows. */
export function statementsOf(database: Database): Pick<Writer, "run" | "withCommit"> {
  return {
    run: (sql, values) => done(runTranslated(database, sql, values)),
    withCommit: (sql, values) => void runTranslated(database, sql, values),
  };
}

/** With the messages that joined it. */
export function withJoined(database: Database, run: Run): Run {
  if (!run.action?.coalesce) return run;
  const ofRun = "run_seq = (SELECT seq FROM runs WHERE id = ?)";
  const last = database.get(`SELECT max(place) AS place FROM joined_events WHERE ${ofRun}`, run.id);
  if (last?.place === null) return run;
  const rows = database.all(
    `SELECT message FROM joined_events WHERE ${ofRun} AND place <= ${MAX_JOINED_MESSAGES} ORDER BY place`,
    run.id,
  );
  const messages = rows.map((row) => text(row.message));
  const newest = database.get(`SELECT access FROM joined_events WHERE ${ofRun} ORDER BY place DESC LIMIT 1`, run.id);
  const access = newest?.access ? JSON.parse(text(newest.access)) : undefined;
  return { ...run, joined: { messages, leftOut: integer(last?.place) - messages.length, access } };
}

export function readStats(database: Database): JournalStats {
  const row = database.get("SELECT * FROM totals") ?? {};
  return {
    events: integer(row.events),
    pendingRuns: integer(row.pending_runs),
    pendingDeliveries: integer(row.pending_deliveries),
    pendingSystemEvents: integer(row.pending_system_events),
  };
}

/** The first of what is due. A row can be there several times. */
export function takeOldest(due: Row[], limit: number): Row[] {
  return [...new Map(due.map((row) => [row.seq, row])).values()].toSorted(byArrival).slice(0, limit);
}
