import { MAIN_SESSION } from "../../types.ts";
import type { Spend, TurnOutcome } from "../records.ts";
import { integer, type Row, text, toSpend } from "../rows.ts";
import type { Database } from "./database.ts";

/** What the `totals` row counts, so that nothing is counted over a million rows. */
interface Totals {
  events: number;
  runs: number;
  deliveries: number;
  systemEvents: number;
}

/**
 * Sums that the operations of a commit change, each written once at its end: many operations change the same row. New
 * events, runs and entries are counted later, many at once: those are the rows after `totals.last_seq`. Then their sessions
 * get the entries, and the index gets the events.
 */
export interface Counters {
  begin(): void;
  /** The transaction was undone. */
  undo(): void;
  /**
   * A number for a new event, run or entry: higher than all before, also than those that are deleted. It and as many after it
   * are then used.
   */
  nextSeq(others?: number): number;
  /** Unfinished runs and deliveries, and what is taken away of the others. */
  add(change: Partial<Totals>): void;
  /** Takes an entry away; a session without entries is deleted. */
  shortenSession(key: string): void;
  /** At the end of a commit. */
  write(): void;
  /** Also counts the new rows. Called before rows are deleted, consumed or copied. */
  writeNow(): void;
}

/** Counting this many takes about as long as a commit. */
const MAX_UNCOUNTED = 256;

/** `isOnlyWriter`: no other connection adds rows, so numbers and what is not counted yet are known without reading them. */
export function createCounters(database: Database, { isOnlyWriter }: { isOnlyWriter: boolean }): Counters {
  const totals: Totals = { events: 0, runs: 0, deliveries: 0, systemEvents: 0 };
  /** By session. */
  const removed = new Map<string, number>();
  let hasChanged = false;
  let lastSeq: number | undefined;
  const maxUncounted = isOnlyWriter ? MAX_UNCOUNTED : 1;
  /** An upper bound: at first it is not known what a crash has left. */
  let uncounted = maxUncounted;

  return {
    begin,
    undo: () => void (uncounted = maxUncounted),
    nextSeq(others = 0) {
      uncounted += 1;
      const seq = readLastSeq() + 1;
      lastSeq = seq + others;
      return seq;
    },
    add({ events = 0, runs = 0, deliveries = 0, systemEvents = 0 }) {
      totals.events += events;
      totals.runs += runs;
      totals.deliveries += deliveries;
      totals.systemEvents += systemEvents;
      hasChanged = true;
    },
    shortenSession(key) {
      removed.set(key, (removed.get(key) ?? 0) + 1);
      hasChanged = true;
    },
    write() {
      if (uncounted >= maxUncounted) countAdded();
      if (hasChanged) writeSums();
    },
    writeNow() {
      if (uncounted > 0 || !isOnlyWriter) countAdded();
      if (hasChanged) writeSums();
    },
  };

  function begin(): void {
    Object.assign(totals, { events: 0, runs: 0, deliveries: 0, systemEvents: 0 });
    removed.clear();
    hasChanged = false;
    if (!isOnlyWriter) lastSeq = undefined;
  }

  function readLastSeq(): number {
    return lastSeq ?? integer(database.get(LAST_SEQ)?.last_seq);
  }

  function countAdded(): void {
    const { events, systemEvents } = readUncounted(database);
    database.run(INDEX_ADDED);
    database.run(EXTEND_SESSIONS);
    database.run(COUNT_ADDED, events, systemEvents, readLastSeq());
    uncounted = 0;
  }

  function writeSums(): void {
    const { events, runs, deliveries, systemEvents } = totals;
    database.run(ADD_TO_TOTALS, events, runs, deliveries, systemEvents);
    for (const [key, count] of removed) {
      database.run("UPDATE OR FAIL sessions SET entries = entries - ? WHERE key = ?", count, key);
      database.run("DELETE FROM sessions WHERE key = ? AND entries <= 0", key);
    }
    begin();
  }
}

/** Events and pending system events that are not in the totals yet. */
export function readUncounted(database: Database): Pick<Totals, "events" | "systemEvents"> {
  const row = database.get(COUNT_UNCOUNTED);
  return { events: integer(row?.events), systemEvents: integer(row?.system_events) };
}

const IS_UNCOUNTED = "seq > (SELECT last_seq FROM totals)";

/**
 * Entries that are not in their sessions yet, as rows of sessions: also those in rows of events and runs. The plus keeps SQLite
 * from reading a session.
 */
export const UNCOUNTED_ENTRIES = `
  SELECT +session_key AS key, at AS created_at, at AS updated_at, 1 AS entries FROM entries WHERE ${IS_UNCOUNTED}
  UNION ALL SELECT '${MAIN_SESSION}', received_at, received_at, 1 FROM events WHERE ${IS_UNCOUNTED} AND pending IS NOT NULL
  UNION ALL SELECT +session_key, turn ->> '$.at', finished_at, 2 FROM runs WHERE ${IS_UNCOUNTED} AND turn IS NOT NULL
  UNION ALL SELECT '${MAIN_SESSION}', finished_at, finished_at, 1 FROM runs WHERE ${IS_UNCOUNTED} AND turn IS NOT NULL`;

const COUNT_UNCOUNTED = `
  SELECT (SELECT count(*) FROM events WHERE ${IS_UNCOUNTED}) AS events,
    (SELECT total(pending) FROM events WHERE ${IS_UNCOUNTED}) + (SELECT total(pending) FROM runs WHERE ${IS_UNCOUNTED})
      + (SELECT total(pending) FROM entries WHERE ${IS_UNCOUNTED}) AS system_events`;

const INDEX_ADDED = `
  INSERT OR FAIL INTO event_index SELECT seq, hook, status, pending FROM events WHERE ${IS_UNCOUNTED}`;

const EXTEND_SESSIONS = `
  INSERT OR FAIL INTO sessions (key, created_at, updated_at, entries)
  SELECT key, min(created_at), max(updated_at), sum(entries) FROM (${UNCOUNTED_ENTRIES}) WHERE true GROUP BY key
  ON CONFLICT DO UPDATE SET updated_at = max(updated_at, excluded.updated_at), entries = entries + excluded.entries`;

const LAST_SEQ = `
  SELECT max(last_seq, coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) + 2 FROM runs), 0),
    coalesce((SELECT max(seq) FROM entries), 0)) AS last_seq FROM totals`;

const COUNT_ADDED = `
  UPDATE OR FAIL totals SET events = events + ?, pending_system_events = pending_system_events + ?, last_seq = ?`;

const ADD_TO_TOTALS = `
  UPDATE OR FAIL totals SET events = events + ?, pending_runs = pending_runs + ?, pending_deliveries = pending_deliveries + ?,
    pending_system_events = pending_system_events + ?`;

/**
 * Of an event, `open` counts unfinished runs and deliveries, `lost` those that failed permanently. With the last open one it
 * is done or dead.
 */
export interface CountChange {
  open: number;
  lost: number;
}

/** Changes the counts of a run's event, and of those that joined it. */
export function updateRunCounts(database: Database, run: { seq: number; eventSeq: number }, change: CountChange): void {
  const joined = database.all("SELECT event_seq FROM joined_events WHERE run_seq = ?", run.seq);
  updateCounts(database, [run.eventSeq, ...joined.map((row) => integer(row.event_seq))], change);
}

/** Changes the counts of a delivery's event, and of those that joined its run. */
export function updateDeliveryCounts(
  database: Database,
  { eventId, runId }: { eventId: string | undefined; runId: string },
  change: CountChange,
): void {
  if (eventId === undefined) return;
  const rows = [
    ...database.all("SELECT seq FROM events WHERE id = ?", eventId),
    ...database.all(
      "SELECT joined_events.event_seq AS seq FROM runs JOIN joined_events ON run_seq = runs.seq WHERE runs.id = ?",
      runId,
    ),
  ];
  updateCounts(
    database,
    rows.map(({ seq }) => integer(seq)),
    change,
  );
}

/** Two actions of one event can be in one run, which counts once. */
function updateCounts(database: Database, eventSeqs: number[], { open, lost }: CountChange): void {
  for (const seq of new Set(eventSeqs)) database.run(UPDATE_COUNTS, open, lost, seq);
}

const UPDATE_COUNTS = `
  UPDATE OR FAIL events SET open = open + ?1, lost = lost + ?2,
    status = CASE WHEN open + ?1 > 0 THEN 'accepted' WHEN lost + ?2 > 0 THEN 'dead' ELSE 'done' END WHERE seq = ?3`;

const HOUR_MS = 3_600_000;

/** Adds what a finished run used, if its agent said so. The row has the run's `session_key`, `hook` and `mapping`. */
export function recordSpend(
  database: Database,
  row: Row | undefined,
  { usage, cost = 0, model, finishedAt }: TurnOutcome,
): void {
  if (!usage) return;
  const { session_key = MAIN_SESSION, hook = null, mapping = "" } = row ?? {};
  const hour = finishedAt - (finishedAt % HOUR_MS);
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const key = [hour, text(session_key), hook === null ? "" : text(hook), text(mapping), model ?? ""];
  database.run(ADD_SPEND, ...key, inputTokens, outputTokens, cost);
}

const ADD_SPEND = `
  INSERT INTO spend (hour, session_key, hook, mapping, model, runs, input_tokens, output_tokens, cost)
  VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET runs = runs + 1, cost = cost + excluded.cost,
    input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens`;

export function readSpend(
  database: Database,
  { since, sessionKey = null }: { since: number; sessionKey?: string | null },
): Spend[] {
  return database.all(READ_SPEND, since, sessionKey).map(toSpend);
}

const READ_SPEND = `
  SELECT hook, mapping, model, sum(runs) AS runs, sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens, sum(cost) AS cost
  FROM spend WHERE hour >= ?1 AND (?2 IS NULL OR session_key = ?2)
  GROUP BY hook, mapping, model ORDER BY cost DESC, sum(input_tokens) + sum(output_tokens) DESC`;

export function sweepSpend(database: Database, keepFrom: number, limit: number): number {
  return database.run(
    `DELETE FROM spend WHERE hour < ?1 AND hour <= (SELECT max(hour) FROM (SELECT hour FROM spend ORDER BY hour LIMIT ?2))`,
    keepFrom - HOUR_MS,
    limit,
  );
}
