import { MAIN_SESSION } from "../../types.ts";
import type { Spend, TurnOutcome } from "../records.ts";
import { integer, optional, type Row, text, toSpend } from "../rows.ts";
import type { Database } from "./database.ts";

/** What the `totals` row counts, so that nothing is counted over a million rows. */
interface Totals {
  events: number;
  runs: number;
  deliveries: number;
  systemEvents: number;
}

/**
 * Sums that the operations of a commit change, each written once at its end: many operations change the same row. A commit
 * that only adds events and their inline wakes does not write them: those are the events after `totals.last_seq`, and a later
 * commit counts them and adds them to the index.
 */
export interface Counters {
  begin(): void;
  /** The transaction was undone. */
  undo(): void;
  /** A number for a new event, as `nextSeq` gives it. The event will be counted, and its inline wake. */
  addEvent(): number;
  /** Unfinished runs and deliveries, and pending system events. */
  add(change: Partial<Totals>): void;
  extendSession(key: string, at: number): void;
  /** Takes an entry away; a session without entries is deleted. */
  shortenSession(key: string): void;
  /** A number for a new run or entry: higher than all before, also than those that are deleted. */
  nextSeq(): number;
  /** Writes the sums at the end of a commit, unless that can wait. */
  write(): void;
  /** Writes them now. Called before events are deleted or copied, which may not be counted yet. */
  writeNow(): void;
}

/** Counting this many takes about as long as a commit. */
const MAX_UNCOUNTED = 256;

interface SessionChange {
  added: number;
  removed: number;
  firstAt: number;
  lastAt: number;
}

/** `isOnlyWriter`: no other connection adds rows, so numbers and what is not counted yet are known without reading them. */
export function createCounters(database: Database, { isOnlyWriter }: { isOnlyWriter: boolean }): Counters {
  const totals: Totals = { events: 0, runs: 0, deliveries: 0, systemEvents: 0 };
  const sessions = new Map<string, SessionChange>();
  let hasChanged = false;
  let lastSeq: number | undefined;
  const maxUncounted = isOnlyWriter ? MAX_UNCOUNTED : 1;
  /** An upper bound: at first it is not known what a crash has left. */
  let uncounted = maxUncounted;

  return {
    begin,
    undo: () => void (uncounted = maxUncounted),
    addEvent() {
      uncounted += 1;
      return increaseSeq();
    },
    add({ events = 0, runs = 0, deliveries = 0, systemEvents = 0 }) {
      totals.events += events;
      totals.runs += runs;
      totals.deliveries += deliveries;
      totals.systemEvents += systemEvents;
      hasChanged = true;
    },
    extendSession(key, at) {
      extendSession(key, { added: 1, firstAt: at, lastAt: at });
    },
    shortenSession(key) {
      changeOf(key).removed += 1;
      hasChanged = true;
    },
    nextSeq() {
      hasChanged = true;
      return increaseSeq();
    },
    write() {
      if (hasChanged || uncounted >= maxUncounted) writeAll();
    },
    writeNow: writeAll,
  };

  function begin(): void {
    Object.assign(totals, { events: 0, runs: 0, deliveries: 0, systemEvents: 0 });
    sessions.clear();
    hasChanged = false;
    if (!isOnlyWriter) lastSeq = undefined;
  }

  function increaseSeq(): number {
    lastSeq = readLastSeq() + 1;
    return lastSeq;
  }

  function readLastSeq(): number {
    return lastSeq ?? integer(database.get(LAST_SEQ)?.last_seq);
  }

  function writeAll(): void {
    if (uncounted > 0 || !isOnlyWriter) countAdded();
    uncounted = 0;
    if (!hasChanged) return;
    const { events, runs, deliveries, systemEvents } = totals;
    database.run(ADD_TO_TOTALS, events, runs, deliveries, systemEvents, readLastSeq());
    for (const [key, change] of sessions) {
      if (change.added > 0) database.run(EXTEND_SESSION, key, change.firstAt, change.lastAt, change.added);
      if (change.removed === 0) continue;
      database.run("UPDATE OR FAIL sessions SET entries = entries - ? WHERE key = ?", change.removed, key);
      database.run("DELETE FROM sessions WHERE key = ? AND entries <= 0", key);
    }
    begin();
  }

  function countAdded(): void {
    const { events, wakes, firstAt, lastAt } = readUncounted(database);
    if (events === 0) return;
    hasChanged = true;
    database.run(INDEX_ADDED);
    totals.events += events;
    totals.systemEvents += wakes;
    if (wakes > 0) extendSession(MAIN_SESSION, { added: wakes, firstAt, lastAt });
  }

  function extendSession(key: string, { added, firstAt, lastAt }: Omit<SessionChange, "removed">): void {
    const change = changeOf(key);
    change.added += added;
    change.firstAt = Math.min(change.firstAt, firstAt);
    change.lastAt = Math.max(change.lastAt, lastAt);
    hasChanged = true;
  }

  function changeOf(key: string): SessionChange {
    const known = sessions.get(key);
    if (known) return known;
    const change = { added: 0, removed: 0, firstAt: Infinity, lastAt: 0 };
    sessions.set(key, change);
    return change;
  }
}

/** Events that are not in the totals yet, and the wakes in their rows. */
export function readUncounted(database: Database): { events: number; wakes: number; firstAt: number; lastAt: number } {
  const row = database.get(UNCOUNTED);
  return {
    events: integer(row?.events),
    wakes: integer(row?.wakes),
    firstAt: optional(integer, row?.first_at ?? null) ?? Infinity,
    lastAt: optional(integer, row?.last_at ?? null) ?? 0,
  };
}

const UNCOUNTED = `
  SELECT count(*) AS events, count(pending) AS wakes, min(iif(pending IS NULL, NULL, received_at)) AS first_at,
    max(iif(pending IS NULL, NULL, received_at)) AS last_at
  FROM events WHERE seq > (SELECT last_seq FROM totals)`;

const INDEX_ADDED = `
  INSERT OR FAIL INTO event_index SELECT seq, hook, status, pending FROM events WHERE seq > (SELECT last_seq FROM totals)`;

const LAST_SEQ = "SELECT max(last_seq, coalesce((SELECT max(seq) FROM events), 0)) AS last_seq FROM totals";

const ADD_TO_TOTALS = `
  UPDATE OR FAIL totals SET events = events + ?, pending_runs = pending_runs + ?, pending_deliveries = pending_deliveries + ?,
    pending_system_events = pending_system_events + ?, last_seq = ?`;

const EXTEND_SESSION = `
  INSERT OR FAIL INTO sessions (key, created_at, updated_at, entries) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET updated_at = max(updated_at, ?3), entries = entries + ?4`;

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
