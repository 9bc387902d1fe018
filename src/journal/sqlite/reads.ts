import { type DeliveryState, EVENT_STATUSES, type EventStatus, type RunState } from "../../types.ts";
import type {
  Delivery,
  Entry,
  EventRecord,
  EventSummary,
  JournalStats,
  Page,
  Run,
  SessionSummary,
} from "../journal.ts";
import type { Database } from "./database.ts";
import { bytes, findSingleRun, integer, oneOf, type Row, text, toDelivery, toOutcome, toSession } from "../rows.ts";
import { listEntries, listEventEntries } from "./entries.ts";
import type { EventDetail } from "./accept.ts";
import { SELECT_RUNS, toRun, toWholeRun } from "./runs.ts";
import { readUncounted, UNCOUNTED_ENTRIES } from "./counters.ts";

/* What the operator sees: lists are newest first. */

export function listEvents(
  database: Database,
  page: Page & { prefix?: string; ids?: string[]; hook?: string; status?: EventStatus },
): EventSummary[] {
  return withOutcomes(database, selectEvents(database, page).map(toEventSummary));
}

function selectEvents(
  database: Database,
  { hook, status, before, prefix, ids, limit }: Parameters<typeof listEvents>[1],
): Row[] {
  const conditions: Condition[] = [
    ["hook = ?", hook],
    ["seq < (SELECT seq FROM events WHERE id = ?)", before],
  ];
  const idConditions: Condition[] = [
    ["id >= ?", prefix],
    // Behind every digit.
    ["id < ?", prefix && `${prefix}~`],
    ["id IN (SELECT value FROM json_each(?))", ids && JSON.stringify(ids)],
  ];
  if ((prefix ?? ids) !== undefined || (hook ?? status) === undefined) {
    return listPage(database, SELECT_EVENTS, [...conditions, ["status = ?", status], ...idConditions], limit);
  }
  // The index of hooks is in order for each status.
  const statuses = status === undefined ? EVENT_STATUSES : [status];
  const seqs = statuses
    .flatMap((each) => listPage(database, "SELECT seq FROM event_states", [...conditions, ["status = ?", each]], limit))
    .map(({ seq }) => integer(seq))
    .toSorted((a, b) => b - a)
    .slice(0, limit);
  const where = "WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq DESC";
  return database.all(`${SELECT_EVENTS} ${where}`, JSON.stringify(seqs));
}

const SELECT_EVENTS = "SELECT seq, id, hook, status, open, lost, received_at, detail FROM events";

/** Adds the run and the delivery of those events that have a single run: what became of them is one line. */
function withOutcomes(database: Database, events: EventSummary[]): EventSummary[] {
  const ids = JSON.stringify(events.flatMap((event) => findSingleRun(event) ?? []));
  const runs = database.all(SINGLE_RUNS, ids).map(toRun);
  // Those of a run that an event joined have the id of that run's event.
  const ofRuns = JSON.stringify(runs.map(({ eventId }) => eventId));
  const deliveries = database
    .all("SELECT * FROM deliveries WHERE event_id IN (SELECT value FROM json_each(?)) ORDER BY seq", ofRuns)
    .map(toDelivery);
  const runById = new Map(runs.map((run) => [run.id, run]));
  const deliveryByRun = new Map(deliveries.map((delivery) => [delivery.runId, delivery]));
  return events.map((event) => {
    const runId = findSingleRun(event);
    return runId === undefined ? event : { ...event, ...toOutcome(runById.get(runId), deliveryByRun.get(runId)) };
  });
}

/** Without their actions and outcomes. */
const SINGLE_RUNS = `
  SELECT runs.*, NULL AS action, NULL AS wide_action, NULL AS outcome, events.id AS event_id, hook
  FROM runs LEFT JOIN events ON events.seq = event_seq WHERE runs.id IN (SELECT value FROM json_each(?))`;

export function countEvents(database: Database, max: number): Record<EventStatus, number> {
  const count = (status: EventStatus): [EventStatus, number] => {
    const row = database.get(
      "SELECT count(*) AS count FROM (SELECT 1 FROM event_states WHERE status = ? LIMIT ?)",
      status,
      max,
    );
    return [status, integer(row?.count)];
  };
  const counts: Partial<Record<EventStatus, number>> = Object.fromEntries(EVENT_STATUSES.map(count));
  const { accepted = 0, skipped = 0, rejected = 0, done = 0, failed = 0, dead = 0 } = counts;
  return { accepted, skipped, rejected, done, failed, dead };
}

export function getEvent(database: Database, id: string): EventRecord | undefined {
  const row = database.get(
    `SELECT events.*, bodies.body AS wide_body FROM events LEFT JOIN bodies ON event_seq = seq WHERE id = ?`,
    id,
  );
  return row && toEventRecord(database, row);
}

export function listRuns(database: Database, page: Page & { state?: RunState }): Run[] {
  const conditions: Condition[] = [
    ["state = ?", page.state],
    ["runs.seq < (SELECT seq FROM runs WHERE id = ?)", page.before],
  ];
  return listPage(database, SELECT_RUNS, conditions, page.limit).map(toRun);
}

export function getRun(database: Database, id: string): Run | undefined {
  const row = database.get(`${SELECT_RUNS} WHERE runs.id = ?`, id);
  return row && toRun(row);
}

export function listDeliveries(database: Database, page: Page & { state?: DeliveryState }): Delivery[] {
  const conditions: Condition[] = [
    ["state = ?", page.state],
    ["seq < (SELECT seq FROM deliveries WHERE id = ?)", page.before],
  ];
  return listPage(database, "SELECT * FROM deliveries", conditions, page.limit).map(toDelivery);
}

type Condition = [sql: string, value: string | undefined];

/** The newest rows that meet the conditions whose value is given. */
function listPage(database: Database, select: string, conditions: Condition[], limit: number): Row[] {
  const given = conditions.filter(([, value]) => value !== undefined);
  const where = given.length > 0 ? `WHERE ${given.map(([sql]) => sql).join(" AND ")}` : "";
  const values = given.map(([, value]) => value);
  return database.all(`${select} ${where} ORDER BY seq DESC LIMIT ?`, ...values, limit);
}

/** The one with the newest entry first. */
export function listSessions(database: Database, { limit }: { limit: number }): SessionSummary[] {
  return database.all(NEWEST_SESSIONS, limit).map(toSession);
}

/** Rows of sessions and of their new entries, as one row a session. */
const toSessionRows = (rows: string): string => `
  SELECT key, min(created_at) AS created_at, max(updated_at) AS updated_at, sum(entries) AS entries
  FROM (${rows}) GROUP BY key`;

const NEWEST_SESSIONS = `
  ${toSessionRows(`
    SELECT * FROM (SELECT * FROM sessions ORDER BY updated_at DESC LIMIT ?1)
    UNION SELECT * FROM sessions WHERE key IN (SELECT key FROM (${UNCOUNTED_ENTRIES}))
    UNION ALL ${UNCOUNTED_ENTRIES}`)}
  ORDER BY updated_at DESC LIMIT ?1`;

export function getSession(
  database: Database,
  key: string,
  { limit, after = 0 }: { limit: number; after?: number },
): { session: SessionSummary; entries: Entry[] } | undefined {
  const row = database.get(SESSION_WITHOUT_ENTRIES, key);
  const session = findSession(database, key) ?? (row && toSession(row));
  return session && { session, entries: listEntries(database, key, after, limit) };
}

/** A session that has entries. */
function findSession(database: Database, key: string): SessionSummary | undefined {
  const row = database.get(FIND_SESSION, key);
  return row && toSession(row);
}

const FIND_SESSION = toSessionRows(`
  SELECT * FROM sessions WHERE key = ?1 UNION ALL SELECT * FROM (${UNCOUNTED_ENTRIES}) WHERE key = ?1`);

/** A session whose runs are all unfinished or dead. */
const SESSION_WITHOUT_ENTRIES = `
  SELECT session_key AS key, created_at, created_at AS updated_at, 0 AS entries FROM runs
  WHERE session_key = ?1 AND finished_at IS NULL
  UNION ALL
  SELECT session_key, created_at, created_at, 0 FROM runs INDEXED BY runs_dead
  WHERE session_key = ?1 AND state = 'dead' AND event_seq IS NOT NULL
  LIMIT 1`;

export function readStats(database: Database): JournalStats {
  const row = database.get("SELECT * FROM totals") ?? {};
  const { events, systemEvents } = readUncounted(database);
  return {
    events: integer(row.events) + events,
    pendingRuns: integer(row.pending_runs),
    pendingDeliveries: integer(row.pending_deliveries),
    pendingSystemEvents: integer(row.pending_system_events) + systemEvents,
  };
}

function toEventSummary(row: Row): EventSummary {
  const { mapping, event, reason, replayOf, actions = [], failure }: EventDetail = JSON.parse(text(row.detail));
  return {
    id: text(row.id),
    hook: text(row.hook),
    mapping,
    event,
    reason,
    receivedAt: integer(row.received_at),
    replayOf,
    status: oneOf(EVENT_STATUSES, row.status),
    actions,
    failure,
    open: integer(row.open),
    lost: integer(row.lost),
  };
}

function toEventRecord(database: Database, row: Row): EventRecord {
  const summary = toEventSummary(row);
  const detail: EventDetail = JSON.parse(text(row.detail));
  const { request, credential, traceparent, warnings = [], log = [], took } = detail;
  const parts = partsOf(database, integer(row.seq), summary);
  const { runs, deliveries } = parts;
  return {
    ...summary,
    ...(findSingleRun(summary) !== undefined && toOutcome(runs[0], deliveries.at(-1))),
    credential,
    traceparent,
    warnings,
    log,
    took,
    request: { ...request, body: bytes(row.body ?? row.wide_body) },
    ...parts,
  };
}

/** What resulted from an event, in order. */
function partsOf(
  database: Database,
  seq: number,
  { id, actions }: EventSummary,
): Pick<EventRecord, "runs" | "entries" | "deliveries"> {
  // Runs are found by the ids in the receipts: an index on event_seq would cost every accept.
  const rows = database.all(
    `${SELECT_RUNS} WHERE runs.id IN (SELECT value FROM json_each(?1)) AND (event_seq = ?2
       OR EXISTS (SELECT 1 FROM joined_events AS joined WHERE joined.run_seq = runs.seq AND joined.event_seq = ?2))
     ORDER BY runs.seq`,
    JSON.stringify(actions.map(({ runId }) => runId)),
    seq,
  );
  const runs = rows.map((row) => toWholeRun(database, row));
  // Entries and deliveries of a run that it joined belong to that run's event.
  const eventSeqs = JSON.stringify([seq, ...rows.map((row) => row.event_seq)]);
  const events = JSON.stringify([id, ...runs.map((run) => run.eventId)]);
  const ofRuns = JSON.stringify(runs.map((run) => run.id));
  const deliveries = database.all(
    `SELECT * FROM deliveries WHERE event_id IN (SELECT value FROM json_each(?1))
       AND (event_id = ?2 OR run_id IN (SELECT value FROM json_each(?3))) ORDER BY seq`,
    events,
    id,
    ofRuns,
  );
  const runSeqs = JSON.stringify(rows.map((row) => row.seq));
  return {
    runs,
    entries: listEventEntries(database, seq, eventSeqs, runSeqs),
    deliveries: deliveries.map(toDelivery),
  };
}
