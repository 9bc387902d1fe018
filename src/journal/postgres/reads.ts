import { type DeliveryState, EVENT_STATUSES, type EventStatus, type RunState } from "../../types.ts";
import {
  type Delivery,
  type Entry,
  ENTRY_ROLES,
  type EventRecord,
  type EventSummary,
  type Run,
  type SessionSummary,
} from "../records.ts";
import { isId } from "../../shared/id.ts";
import type { JournalStats, Page } from "../journal.ts";
import { bytes, findSingleRun, integer, oneOf, optional, type Row, text, toOutcome, toSession } from "../rows.ts";
import type { EventDetail } from "./accept.ts";
import type { Sql, SqlValue } from "./database.ts";
import { toDeliveryHere } from "./deliveries.ts";
import { toRunHere, withJoined } from "./runs.ts";
import { toPostgresText } from "./transaction.ts";

/* What the operator sees: lists are newest first. Ids of events sort by time, across all nodes. */

export async function listEvents(
  sql: Sql,
  ahead: number,
  {
    limit,
    before,
    prefix,
    ids,
    hook,
    status,
  }: Page & { prefix?: string; ids?: string[]; hook?: string; status?: EventStatus },
): Promise<EventSummary[]> {
  const [first, last] = toBounds(prefix);
  if (first === undefined || (before !== undefined && !isId(before))) return [];
  const conditions: Condition[] = [
    ["state.hook =", hook === undefined ? undefined : toPostgresText(hook)],
    ["state.status =", status],
    ["id <", before],
    ["id >=", prefix === undefined ? undefined : first],
    ["id <=", prefix === undefined ? undefined : last],
    ["id = ANY", ids?.filter(isId)],
  ];
  const select = `SELECT events.*, status, open, lost FROM hookline.event_states AS state JOIN hookline.events USING (id)`;
  const events = (await listPage(sql, { select, conditions, order: "id", limit })).map(toEventSummary);
  return withOutcomes(sql, ahead, events);
}

export async function countEvents(sql: Sql, max: number): Promise<Record<EventStatus, number>> {
  const rows = await sql.all(
    `SELECT status, (SELECT count(*)::int FROM
       (SELECT 1 FROM hookline.event_states AS state WHERE state.status = wanted.status LIMIT $2) AS counted) AS count
     FROM unnest($1::text[]) AS wanted (status)`,
    [[...EVENT_STATUSES], max],
  );
  const counts = new Map(rows.map((row) => [text(row["status"]), integer(row["count"])]));
  const of = (status: EventStatus): number => counts.get(status) ?? 0;
  return {
    accepted: of("accepted"),
    skipped: of("skipped"),
    rejected: of("rejected"),
    done: of("done"),
    failed: of("failed"),
    dead: of("dead"),
  };
}

async function withOutcomes(sql: Sql, ahead: number, events: EventSummary[]): Promise<EventSummary[]> {
  const ids = events.flatMap((event) => findSingleRun(event) ?? []);
  if (ids.length === 0) return events;
  const runs = (await sql.all("SELECT * FROM hookline.runs WHERE id = ANY($1::uuid[])", [ids])).map((row) =>
    toRunHere({ ...row, action: null }, ahead),
  );
  // Those of a run that an event joined have the id of that run's event.
  const rows = await sql.all("SELECT * FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) ORDER BY seq", [
    runs.flatMap(({ eventId }) => eventId ?? []),
  ]);
  const deliveries = Map.groupBy(
    rows.map((row) => toDeliveryHere(row, ahead)),
    ({ runId }) => runId,
  );
  const runById = new Map(runs.map((run) => [run.id, run]));
  return events.map((event) => {
    const runId = findSingleRun(event) ?? "";
    const run = runById.get(runId);
    return withOutcome(event, { runs: run ? [run] : [], deliveries: deliveries.get(runId) ?? [] });
  });
}

/** The lowest and the highest id with these digits in front; undefined if no id has them. */
function toBounds(prefix = ""): [string?, string?] {
  const bounds = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"].map(
    (rest) => prefix + rest.slice(prefix.length),
  );
  return bounds.every(isId) ? [bounds[0], bounds[1]] : [];
}

export async function getEvent(sql: Sql, ahead: number, id: string): Promise<EventRecord | undefined> {
  if (!isId(id)) return undefined;
  const row = await sql.get(
    `SELECT events.*, status, open, lost, coalesce(body, '') AS body FROM hookline.events JOIN hookline.event_states USING (id)
     LEFT JOIN hookline.bodies ON event_id = id WHERE id = $1`,
    [id],
  );
  return row && toEventRecord(row, await partsOf(sql, ahead, row));
}

/** What resulted from an event, in order. */
async function partsOf(
  sql: Sql,
  ahead: number,
  row: Row,
): Promise<Pick<EventRecord, "runs" | "entries" | "deliveries">> {
  const id = text(row.id);
  // Runs are found by the ids in the receipts: an index on event_id would cost every accept.
  const receipts: { runId?: string }[] = JSON.parse(text(row.actions));
  const own = await sql.all(
    `SELECT * FROM hookline.runs WHERE id = ANY($1::uuid[]) AND (event_id = $2
       OR EXISTS (SELECT 1 FROM hookline.joined_events AS joined WHERE run_id = runs.id AND joined.event_id = $2)) ORDER BY seq`,
    [receipts.flatMap(({ runId }) => runId ?? []), id],
  );
  const runs = await withJoined(
    sql,
    own.map((each) => toRunHere(each, ahead)),
  );
  // Entries and deliveries of a run that it joined have the id of that run's event.
  const events = [id, ...runs.flatMap(({ eventId }) => eventId ?? [])];
  const values = [events, id, runs.map((run) => run.id)];
  const theirs = "event_id = ANY($1::uuid[]) AND (event_id = $2 OR run_id = ANY($3::uuid[])) ORDER BY seq";
  const entries = await sql.all(`SELECT * FROM hookline.entries WHERE ${theirs}`, values);
  const deliveries = await sql.all(`SELECT * FROM hookline.deliveries WHERE ${theirs}`, values);
  return { runs, entries: entries.map(toEntry), deliveries: deliveries.map((each) => toDeliveryHere(each, ahead)) };
}

export async function listRuns(sql: Sql, ahead: number, page: Page & { state?: RunState }): Promise<Run[]> {
  const rows = await listQueue(sql, "runs", page);
  return rows.map((row) => toRunHere(row, ahead));
}

export async function getRun({ get }: Sql, ahead: number, id: string): Promise<Run | undefined> {
  const row = isId(id) ? await get("SELECT * FROM hookline.runs WHERE id = $1", [id]) : undefined;
  return row && toRunHere(row, ahead);
}

export async function listDeliveries(
  sql: Sql,
  ahead: number,
  page: Page & { state?: DeliveryState },
): Promise<Delivery[]> {
  const rows = await listQueue(sql, "deliveries", page);
  return rows.map((row) => toDeliveryHere(row, ahead));
}

async function listQueue(
  sql: Sql,
  table: "runs" | "deliveries",
  { limit, before, state }: Page & { state?: string },
): Promise<Row[]> {
  if (before !== undefined && !isId(before)) return [];
  const conditions: Condition[] = [
    ["state =", state],
    ["id <", before],
  ];
  return listPage(sql, { select: `SELECT * FROM hookline.${table}`, conditions, order: "id", limit });
}

type Condition = [sql: string, value: SqlValue];

/** The newest rows that meet the conditions whose value is given. */
async function listPage(
  { all }: Sql,
  { select, conditions, order, limit }: { select: string; conditions: Condition[]; order: string; limit: number },
): Promise<Row[]> {
  const given = conditions.filter(([, value]) => value !== undefined);
  const where = given.length > 0 ? `WHERE ${given.map(([sql], index) => `${sql} ($${index + 1})`).join(" AND ")}` : "";
  const values = [...given.map(([, value]) => value), limit];
  return all(`${select} ${where} ORDER BY ${order} DESC LIMIT $${values.length}`, values);
}

/** The one with the newest entry first. */
export async function listSessions({ all }: Sql, { limit }: { limit: number }): Promise<SessionSummary[]> {
  return (await all("SELECT * FROM hookline.sessions ORDER BY updated_at DESC LIMIT $1", [limit])).map(toSession);
}

export async function getSession(
  { get, all }: Sql,
  sessionKey: string,
  { limit, after = 0 }: { limit: number; after?: number },
): Promise<{ session: SessionSummary; entries: Entry[] } | undefined> {
  const key = toPostgresText(sessionKey);
  const session =
    (await get("SELECT * FROM hookline.sessions WHERE key = $1", [key])) ?? (await get(SESSION_WITHOUT_ENTRIES, [key]));
  if (!session) return undefined;
  const rows = await all("SELECT * FROM hookline.entries WHERE session_key = $1 AND seq > $2 ORDER BY seq LIMIT $3", [
    key,
    after,
    limit,
  ]);
  return { session: toSession(session), entries: rows.map(toEntry) };
}

/** A session whose runs are all unfinished or dead. */
const SESSION_WITHOUT_ENTRIES = `
  SELECT session_key AS key, created_at, created_at AS updated_at, 0 AS entries FROM hookline.runs
  WHERE session_key = $1 AND (finished_at IS NULL OR (state = 'dead' AND kind = 'hook')) ORDER BY seq LIMIT 1`;

/** Above this a total is PostgreSQL's own estimate: counting is a scan. */
const MAX_COUNTED = 100_000;

export async function readStats({ get }: Sql): Promise<JournalStats> {
  const row = await get(
    `SELECT ${countOf("event_states")} AS events,
       ${countOf("runs", "finished_at IS NULL")} AS pending_runs,
       ${countOf("deliveries", "finished_at IS NULL")} AS pending_deliveries,
       ${countOf("entries", "pending = 1")} AS pending_system_events,
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'hookline.event_states'::regclass) AS estimate`,
  );
  const events = integer(row?.events);
  return {
    events: events < MAX_COUNTED ? events : Math.max(events, integer(row?.estimate)),
    pendingRuns: integer(row?.pending_runs),
    pendingDeliveries: integer(row?.pending_deliveries),
    pendingSystemEvents: integer(row?.pending_system_events),
  };
}

function countOf(table: string, condition = "true"): string {
  return `(SELECT count(*) FROM (SELECT 1 FROM hookline.${table} WHERE ${condition} LIMIT ${MAX_COUNTED}) AS counted)`;
}

export async function listPendingSystemEvents({ all }: Sql, limit?: number): Promise<Entry[]> {
  const rows = await all("SELECT * FROM hookline.entries WHERE pending = 1 ORDER BY seq LIMIT $1", [limit]);
  return rows.map(toEntry);
}

export async function listTurns({ all }: Sql, sessionKey: string, limit: number): Promise<Entry[]> {
  const newestFirst = await all(
    "SELECT * FROM hookline.entries WHERE session_key = $1 AND role <> 'system' ORDER BY seq DESC LIMIT $2",
    [toPostgresText(sessionKey), limit],
  );
  return newestFirst.toReversed().map(toEntry);
}

/* Rows become records. */

function toEntry(row: Row): Entry {
  return {
    seq: integer(row.seq),
    sessionKey: text(row.session_key),
    role: oneOf(ENTRY_ROLES, row.role),
    text: text(row.text),
    at: integer(row.at),
    eventId: optional(text, row.event_id),
    runId: optional(text, row.run_id),
    pending: row.pending === 1 || undefined,
    urgent: row.urgent === 1 || undefined,
    boundary: row.boundary === null ? undefined : JSON.parse(text(row.boundary)),
  };
}

function toEventSummary(row: Row): EventSummary {
  return {
    id: text(row.id),
    hook: text(row.hook),
    mapping: optional(text, row.mapping),
    event: optional(text, row.event),
    reason: optional(text, row.reason),
    receivedAt: integer(row.received_at),
    replayOf: optional(text, row.replay_of),
    status: oneOf(EVENT_STATUSES, row.status),
    failure: row.failure === null ? undefined : JSON.parse(text(row.failure)),
    open: integer(row.open),
    lost: integer(row.lost),
    actions: JSON.parse(text(row.actions)),
  };
}

/** Adds that run, and the newest of its deliveries, if they are given. */
function withOutcome<Event extends EventSummary>(
  event: Event,
  { runs, deliveries }: Pick<EventRecord, "runs" | "deliveries">,
): Event {
  const runId = findSingleRun(event);
  if (runId === undefined) return event;
  const run = runs.find(({ id }) => id === runId);
  const delivery = deliveries.findLast((each) => each.runId === runId);
  return { ...event, ...toOutcome(run, delivery) };
}

function toEventRecord(row: Row, parts: Pick<EventRecord, "runs" | "entries" | "deliveries">): EventRecord {
  const { request, warnings, log, took }: EventDetail = JSON.parse(text(row.detail));
  const record = {
    ...toEventSummary(row),
    credential: optional(text, row.credential),
    traceparent: optional(text, row.traceparent),
    warnings,
    log,
    took,
    request: { ...request, body: bytes(row.body) },
    ...parts,
  };
  return withOutcome(record, parts);
}
