import type { DeliveryState, EventStatus, RunState } from "../types.ts";
import { integer, optional, text } from "./columns.ts";
import type { Database } from "./database.ts";
import type {
  Delivery,
  Entry,
  EventRecord,
  EventSummary,
  JournalStats,
  Page,
  Run,
  SessionSummary,
} from "./port.ts";
import {
  SELECT_RUNS,
  toDelivery,
  toEntry,
  toEventRecord,
  toEventSummary,
  toRun,
  toSession,
  toStats,
} from "./rows.ts";

/* The operator's lists, newest first. */

/** The journal's `listEvents`. */
export function listEvents(
  database: Database,
  page: Page & { hook?: string; status?: EventStatus },
): EventSummary[] {
  const filter = where([
    ["state.hook = ?", page.hook],
    ["state.status = ?", page.status],
    ["state.event_id < ?", page.before],
  ]);
  const rows = database.all(
    `SELECT id, state.hook, mapping, received_at, status, actions
     FROM event_states AS state JOIN events ON id = event_id
     ${filter.sql} ORDER BY event_id DESC LIMIT ?`,
    ...filter.values,
    page.limit,
  );
  return rows.map(toEventSummary);
}

/** The journal's `getEvent`. */
export function getEvent(database: Database, id: string): EventRecord | undefined {
  const row = database.get(
    "SELECT events.*, status FROM events JOIN event_states ON event_id = id WHERE id = ?",
    id,
  );
  return row && toEventRecord(row, partsOf(database, id, text(row.actions)));
}

/** The journal's `listRuns`. */
export function listRuns(database: Database, page: Page & { state?: RunState }): Run[] {
  const filter = where([
    ["state = ?", page.state],
    ["seq < (SELECT seq FROM runs WHERE id = ?)", page.before],
  ]);
  return database
    .all(`${SELECT_RUNS} ${filter.sql} ORDER BY seq DESC LIMIT ?`, ...filter.values, page.limit)
    .map(toRun);
}

/** The journal's `listDeliveries`. */
export function listDeliveries(database: Database, page: Page & { state?: DeliveryState }): Delivery[] {
  const filter = where([
    ["state = ?", page.state],
    ["seq < (SELECT seq FROM deliveries WHERE id = ?)", page.before],
  ]);
  return database
    .all(`SELECT * FROM deliveries ${filter.sql} ORDER BY seq DESC LIMIT ?`, ...filter.values, page.limit)
    .map(toDelivery);
}

/** The journal's `listSessions`: the one with the newest entry first. */
export function listSessions(database: Database, { limit }: { limit: number }): SessionSummary[] {
  return database.all("SELECT * FROM sessions ORDER BY updated_at DESC LIMIT ?", limit).map(toSession);
}

/** The journal's `getSession`. */
export function getSession(
  database: Database,
  key: string,
  { limit, after = 0 }: { limit: number; after?: number },
): { session: SessionSummary; entries: Entry[] } | undefined {
  const session = database.get("SELECT * FROM sessions WHERE key = ?", key);
  if (!session) return undefined;
  const rows = database.all(
    "SELECT * FROM entries WHERE session_key = ? AND seq > ? ORDER BY seq LIMIT ?",
    key,
    after,
    limit,
  );
  return { session: toSession(session), entries: rows.map(toEntry) };
}

/** The journal's `stats`. */
export function readStats(database: Database): JournalStats {
  return toStats(database.get("SELECT * FROM totals") ?? {});
}

/** The journal's `nextDueAt`. */
export function nextDueAt(database: Database): number | undefined {
  const row = database.get(
    `SELECT min(due_at) AS due_at FROM (
       SELECT min(due_at) AS due_at FROM runs INDEXED BY runs_due WHERE state = 'ready'
       UNION ALL SELECT min(due_at) FROM deliveries INDEXED BY deliveries_due WHERE state = 'pending')`,
  );
  return optional(integer, row?.due_at ?? null);
}

/** What an event led to, in the order it happened. `receipts` is its `actions` column. */
function partsOf(
  database: Database,
  id: string,
  receipts: string,
): Pick<EventRecord, "runs" | "entries" | "deliveries"> {
  // Runs are found by the ids in the receipts: an index on event_id would cost every accept.
  const runs = database.all(
    `${SELECT_RUNS} WHERE id IN (SELECT value ->> 'runId' FROM json_each(?)) AND event_id = ? ORDER BY seq`,
    receipts,
    id,
  );
  const entries = database.all("SELECT * FROM entries WHERE event_id = ? ORDER BY seq", id);
  const deliveries = database.all("SELECT * FROM deliveries WHERE event_id = ? ORDER BY seq", id);
  return { runs: runs.map(toRun), entries: entries.map(toEntry), deliveries: deliveries.map(toDelivery) };
}

/** Joins the conditions whose value is given. */
function where(conditions: [sql: string, value: string | undefined][]): { sql: string; values: string[] } {
  const given = conditions.filter((condition): condition is [string, string] => condition[1] !== undefined);
  return {
    sql: given.length > 0 ? `WHERE ${given.map(([sql]) => sql).join(" AND ")}` : "",
    values: given.map(([, value]) => value),
  };
}
