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
import type { EventDetail } from "./accept.ts";
import { bytes, type Database, integer, oneOf, optional, type SqlRow, text } from "./database.ts";
import { toDelivery } from "./deliveries.ts";
import { toEntry } from "./entries.ts";
import { SELECT_RUNS, toRun, toWholeRun } from "./runs.ts";

/* What the operator sees: lists are newest first. */

export function listEvents(
  database: Database,
  page: Page & { prefix?: string; ids?: string[]; hook?: string; status?: EventStatus },
): EventSummary[] {
  const select = `SELECT id, state.hook, mapping, received_at, replay_of, status, open, lost, actions, ${FROM_DETAIL}
    FROM event_states AS state JOIN events USING (seq)`;
  const conditions: Condition[] = [
    ["state.hook = ?", page.hook],
    ["state.status = ?", page.status],
    ["seq < (SELECT seq FROM events WHERE id = ?)", page.before],
    ["id >= ?", page.prefix],
    // Behind every digit.
    ["id < ?", page.prefix && `${page.prefix}~`],
    ["id IN (SELECT value FROM json_each(?))", page.ids && JSON.stringify(page.ids)],
  ];
  return withOutcomes(database, listPage(database, select, conditions, page.limit).map(toEventSummary));
}

/** Adds the run and the delivery of those events that have a single run: what became of them is one line. */
function withOutcomes(database: Database, events: EventSummary[]): EventSummary[] {
  const ids = JSON.stringify(events.flatMap((event) => findSingleRun(event) ?? []));
  const runs = database.all("SELECT * FROM runs WHERE id IN (SELECT value FROM json_each(?))", ids);
  // Those of a run that an event joined have the id of that run's event.
  const ofRuns = JSON.stringify(runs.map((row) => row.event_id));
  const deliveries = database
    .all("SELECT * FROM deliveries WHERE event_id IN (SELECT value FROM json_each(?)) ORDER BY seq", ofRuns)
    .map(toDelivery);
  const runById = new Map(runs.map((row) => [text(row.id), toRun({ ...row, action: null })]));
  const deliveryByRun = new Map(deliveries.map((delivery) => [delivery.runId, delivery]));
  return events.map((event) => {
    const runId = findSingleRun(event);
    return runId === undefined ? event : { ...event, ...toOutcome(runById.get(runId), deliveryByRun.get(runId)) };
  });
}

function findSingleRun({ actions }: Pick<EventSummary, "actions">): string | undefined {
  const [runId, ...others] = actions.flatMap((action) => action.runId ?? []);
  return others.length === 0 ? runId : undefined;
}

function toOutcome(run: Run | undefined, delivery: Delivery | undefined): Pick<EventSummary, "run" | "delivery"> {
  return { run: run && summarizeRun(run), delivery: delivery && summarizeDelivery(delivery) };
}

function summarizeRun({ id, state, attempts, startedAt, finishedAt, error, holdReason }: Run): EventSummary["run"] {
  return { id, state, attempts, startedAt, finishedAt, error, holdReason };
}

function summarizeDelivery(delivery: Delivery): EventSummary["delivery"] {
  const { id, state, channel, to, route, attempts, sentAt, error } = delivery;
  return { id, state, channel, to, route, attempts, sentAt, error };
}

export function getEvent(database: Database, id: string): EventRecord | undefined {
  const row = database.get(
    `SELECT events.*, status, open, lost, ${FROM_DETAIL} FROM events JOIN event_states USING (seq) WHERE id = ?`,
    id,
  );
  return row && toEventRecord(row, partsOf(database, id, text(row.actions)));
}

const FROM_DETAIL = "detail ->> 'event' AS event, detail ->> 'reason' AS reason, detail -> 'failure' AS failure";

export function listRuns(database: Database, page: Page & { state?: RunState }): Run[] {
  const conditions: Condition[] = [
    ["state = ?", page.state],
    ["seq < (SELECT seq FROM runs WHERE id = ?)", page.before],
  ];
  return listPage(database, SELECT_RUNS, conditions, page.limit).map(toRun);
}

export function getRun(database: Database, id: string): Run | undefined {
  const row = database.get(`${SELECT_RUNS} WHERE id = ?`, id);
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
function listPage(database: Database, select: string, conditions: Condition[], limit: number): SqlRow[] {
  const given = conditions.filter(([, value]) => value !== undefined);
  const where = given.length > 0 ? `WHERE ${given.map(([sql]) => sql).join(" AND ")}` : "";
  const values = given.map(([, value]) => value);
  return database.all(`${select} ${where} ORDER BY seq DESC LIMIT ?`, ...values, limit);
}

/** The one with the newest entry first. */
export function listSessions(database: Database, { limit }: { limit: number }): SessionSummary[] {
  return database.all("SELECT * FROM sessions ORDER BY updated_at DESC LIMIT ?", limit).map(toSession);
}

export function getSession(
  database: Database,
  key: string,
  { limit, after = 0 }: { limit: number; after?: number },
): { session: SessionSummary; entries: Entry[] } | undefined {
  const session =
    database.get("SELECT * FROM sessions WHERE key = ?", key) ?? database.get(SESSION_WITHOUT_ENTRIES, key);
  if (!session) return undefined;
  const rows = database.all(
    "SELECT * FROM entries WHERE session_key = ? AND seq > ? ORDER BY seq LIMIT ?",
    key,
    after,
    limit,
  );
  return { session: toSession(session), entries: rows.map(toEntry) };
}

/** A session whose runs are all unfinished or dead. */
const SESSION_WITHOUT_ENTRIES = `
  SELECT session_key AS key, created_at, created_at AS updated_at, 0 AS entries FROM runs
  WHERE session_key = ?1 AND finished_at IS NULL
  UNION ALL
  SELECT session_key, created_at, created_at, 0 FROM runs INDEXED BY runs_dead
  WHERE session_key = ?1 AND state = 'dead' AND kind = 'hook'
  LIMIT 1`;

export function readStats(database: Database): JournalStats {
  const row = database.get("SELECT * FROM totals") ?? {};
  return {
    events: integer(row.events),
    pendingRuns: integer(row.pending_runs),
    pendingDeliveries: integer(row.pending_deliveries),
    pendingSystemEvents: integer(row.pending_system_events),
  };
}

/** What resulted from an event, in order. `receipts` is its `actions` column. */
function partsOf(
  database: Database,
  id: string,
  receipts: string,
): Pick<EventRecord, "runs" | "entries" | "deliveries"> {
  // Runs are found by the ids in the receipts: an index on event_id would cost every accept.
  const runs = database
    .all(
      `${SELECT_RUNS} WHERE id IN (SELECT value ->> 'runId' FROM json_each(?1)) AND (event_id = ?2
         OR EXISTS (SELECT 1 FROM joined_events AS joined WHERE run_seq = seq AND joined.event_id = ?2)) ORDER BY seq`,
      receipts,
      id,
    )
    .map((row) => toWholeRun(database, row));
  // Entries and deliveries of a run that it joined have the id of that run's event.
  const events = JSON.stringify([id, ...runs.map((run) => run.eventId)]);
  const ofRuns = JSON.stringify(runs.map((run) => run.id));
  const theirs = `event_id IN (SELECT value FROM json_each(?1))
    AND (event_id = ?2 OR run_id IN (SELECT value FROM json_each(?3)))`;
  const entries = database.all(`SELECT * FROM entries WHERE ${theirs} ORDER BY seq`, events, id, ofRuns);
  const deliveries = database.all(`SELECT * FROM deliveries WHERE ${theirs} ORDER BY seq`, events, id, ofRuns);
  return { runs, entries: entries.map(toEntry), deliveries: deliveries.map(toDelivery) };
}

function toEventSummary(row: SqlRow): EventSummary {
  return {
    id: text(row.id),
    hook: text(row.hook),
    mapping: optional(text, row.mapping),
    event: optional(text, row.event),
    reason: optional(text, row.reason),
    receivedAt: integer(row.received_at),
    replayOf: optional(text, row.replay_of),
    status: oneOf(EVENT_STATUSES, row.status),
    actions: JSON.parse(text(row.actions)),
    failure: row.failure === null ? undefined : JSON.parse(text(row.failure)),
    open: integer(row.open),
    lost: integer(row.lost),
  };
}

function toEventRecord(row: SqlRow, parts: Pick<EventRecord, "runs" | "entries" | "deliveries">): EventRecord {
  const { request, ...detail }: EventDetail = JSON.parse(text(row.detail));
  const summary = toEventSummary(row);
  const { runs, deliveries } = parts;
  return {
    ...summary,
    ...(findSingleRun(summary) !== undefined && toOutcome(runs[0], deliveries.at(-1))),
    credential: optional(text, row.credential),
    traceparent: optional(text, row.traceparent),
    ...detail,
    request: { ...request, body: bytes(row.body) },
    ...parts,
  };
}

function toSession(row: SqlRow): SessionSummary {
  return {
    key: text(row.key),
    createdAt: integer(row.created_at),
    updatedAt: integer(row.updated_at),
    entries: integer(row.entries),
  };
}
