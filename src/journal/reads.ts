import { firstIdAt, isId } from "../shared/id.ts";
import { type ChannelName, EVENT_STATUSES, type EventStatus, MAIN_SESSION } from "../types.ts";
import type { DeliveryFilter, Page, RunFilter, WorkCounts } from "./journal.ts";
import type {
  Answer,
  Claim,
  Delivery,
  Entry,
  EventRecord,
  EventSummary,
  Note,
  MappingCount,
  Pause,
  Route,
  Run,
  RunWait,
  SessionSummary,
  Spend,
  StateRow,
  Step,
  Turn,
} from "./records.ts";
import * as rows from "./rows.ts";
import { bytes, integer, type Row, text } from "./rows.ts";

/*
 * The reads of both stores, in PostgreSQL's words. SQLite's differ so little that `sqlite/read.ts` translates them. Lists
 * are newest first; ids of events, runs and deliveries sort by time, across all nodes.
 */

export type ReadValue = string | number | null | undefined | readonly string[];

/** A store, as its reads use it. */
export interface Reader {
  all(sql: string, values?: ReadValue[]): Promise<Row[]>;
  get(sql: string, values?: ReadValue[]): Promise<Row | undefined>;
  /** By how many milliseconds the store's clock is ahead of the clock of this process. */
  clockOffsetMs: number;
  tables: ReadTables;
  /** Adds the messages that joined them. */
  withJoined(runs: Run[]): Promise<Run[]>;
}

/** The tables behind FROM, with equal columns in both stores, and what has no equal in the other store. */
export interface ReadTables {
  /** The states of events: `id`, `hook`, `status`. */
  states: string;
  events: string;
  runs: string;
  entries: string;
  /** Which entries belong to the events $1. */
  isOfEvents: string;
  /** Entries through the index of the main session's turns: most of its entries are system events. */
  mainTurns: string;
  /** The body of the event $1, if it is not empty. */
  body: string;
  /** The mapping of an event, by its `detail`. */
  mappingOf: string;
  /** The column that the lists are in the order of: the one that the indexes end with. */
  order: "id" | "seq";
  /** Whether the event $2 joined the run `runs`. */
  isJoined: string;
  /** A session $1 without entries: its runs are all unfinished or dead. */
  emptySession: string;
}

/* Events */

export async function listEvents(
  reader: Reader,
  page: Page & { prefix?: string; ids?: string[]; hook?: string; status?: EventStatus },
): Promise<EventSummary[]> {
  return withOutcomes(reader, (await listEventRows(reader, page)).map(rows.toEventSummary));
}

/** The rows of a list: for `toEventSummary`. */
export async function listEventRows(reader: Reader, page: Parameters<typeof listEvents>[1]): Promise<Row[]> {
  const { limit, before, prefix, ids, hook, status } = page;
  const [first, last] = toBounds(prefix);
  if (first === undefined || (before !== undefined && !isId(before))) return [];
  const { events: from } = reader.tables;
  const conditions: Condition[] = [
    ["hook =", hook],
    ["status =", status],
    ...withinPage(reader, from, page),
    ["id >=", prefix === undefined ? undefined : first],
    ["id <=", prefix === undefined ? undefined : last],
    ["id = ANY", ids?.filter(isId)],
  ];
  return listPage(reader, { from, conditions, limit });
}

/** The lowest and the highest id with these digits in front; undefined if no id has them. */
function toBounds(prefix = ""): [string?, string?] {
  const bounds = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"].map(
    (rest) => prefix + rest.slice(prefix.length),
  );
  return bounds.every(isId) ? [bounds[0], bounds[1]] : [];
}

/** Adds the run and its most telling delivery to those events that have a single run: what became of them is one line. */
async function withOutcomes(reader: Reader, events: EventSummary[]): Promise<EventSummary[]> {
  const ids = events.flatMap((event) => rows.findSingleRun(event) ?? []);
  if (ids.length === 0) return events;
  const { runs: from } = reader.tables;
  const found = await reader.all(`SELECT * FROM ${from} WHERE id = ANY($1::uuid[])`, [ids]);
  const runs = await toWaitingRuns(
    reader,
    found.map((row) => ({ ...row, action: null })),
  );
  // Those of a run that an event joined have the id of that run's event.
  const deliveries = await reader.all(
    "SELECT * FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) ORDER BY seq",
    [runs.flatMap(({ eventId }) => eventId ?? [])],
  );
  const runById = new Map(runs.map((run) => [run.id, run]));
  const ofRun = Map.groupBy(
    deliveries.map((row) => rows.toDelivery(row, reader.clockOffsetMs)),
    ({ runId }) => runId,
  );
  return events.map((event) => {
    const runId = rows.findSingleRun(event);
    return runId === undefined ? event : { ...event, ...rows.toOutcome(runById.get(runId), ofRun.get(runId)) };
  });
}

export async function countEvents({ all, tables }: Reader, max: number): Promise<Record<EventStatus, number>> {
  const counts = EVENT_STATUSES.map(
    (status) => `SELECT '${status}' AS status, (SELECT count(*) FROM
      (SELECT 1 FROM ${tables.states} WHERE status = '${status}' LIMIT +$1::int) AS counted) AS count`,
  );
  const found = new Map((await all(counts.join(" UNION ALL "), [max])).map((row) => [row.status, integer(row.count)]));
  const of = (status: EventStatus): number => found.get(status) ?? 0;
  return {
    accepted: of("accepted"),
    skipped: of("skipped"),
    rejected: of("rejected"),
    done: of("done"),
    failed: of("failed"),
    dead: of("dead"),
  };
}

export async function countWork(reader: Reader, max: number): Promise<WorkCounts> {
  const [ready = 0, queued = 0, running = 0, held = 0, dead = 0] = await countStates(
    reader,
    "hookline.runs",
    RUNS,
    max,
  );
  const [pending = 0, behind = 0, sending = 0, failed = 0] = await countStates(
    reader,
    "hookline.deliveries",
    DELIVERIES,
    max,
  );
  return { runs: { ready, queued, running, held, dead }, deliveries: { pending, queued: behind, sending, failed } };
}

/** How many events are counted by their mappings: the newest ones. */
const MAX_OF_MAPPINGS = 200_000;

/** What the mappings did with the events since a time. */
export async function countByMapping(reader: Reader, from: number): Promise<MappingCount[]> {
  const { tables } = reader;
  const since = withinPage(reader, tables.events, { limit: MAX_OF_MAPPINGS, from });
  const { where, values } = toWhere(since);
  const found = await reader.all(
    `SELECT mapping, status, count(*) AS count, max(received_at) AS last_at FROM (
       SELECT ${tables.mappingOf} AS mapping, status, received_at FROM ${tables.events} ${where}
       ORDER BY ${tables.order} DESC LIMIT ${MAX_OF_MAPPINGS}) AS newest
     WHERE mapping IS NOT NULL GROUP BY mapping, status`,
    values,
  );
  return found.map((row) => {
    const status = EVENT_STATUSES.find((known) => known === row.status) ?? "accepted";
    return { mapping: text(row.mapping), status, count: integer(row.count), lastAt: integer(row.last_at) };
  });
}

/** As their indexes have them. A heartbeat that failed is no dead letter. */
const RUNS = ["'ready'", "'queued'", "'running'", "'held'", "'dead' AND kind = 'hook'"];
const DELIVERIES = ["'pending'", "'queued'", "'sending'", "'failed'"];

async function countStates({ all }: Reader, from: string, states: string[], max: number): Promise<number[]> {
  const counts = states.map(
    (state, place) => `SELECT ${place} AS place, (SELECT count(*) FROM
      (SELECT 1 FROM ${from} WHERE state = ${state} LIMIT +$1::int) AS counted) AS count`,
  );
  const found = await all(`${counts.join(" UNION ALL ")} ORDER BY place`, [max]);
  return found.map(({ count }) => integer(count));
}

export async function getEvent(reader: Reader, id: string): Promise<EventRecord | undefined> {
  if (!isId(id)) return undefined;
  const row = await reader.get(`SELECT * FROM ${reader.tables.events} WHERE id = $1`, [id]);
  if (!row) return undefined;
  const body = await reader.get(reader.tables.body, [id]);
  const summary = rows.toEventSummary(row);
  const parts = await partsOf(reader, summary);
  const { request, credential, traceparent, warnings, log, timings } = rows.toDetail(row);
  const runId = rows.findSingleRun(summary);
  const deliveries = parts.deliveries.filter((each) => each.runId === runId);
  return {
    ...summary,
    ...(runId !== undefined && rows.toOutcome(parts.runs[0], deliveries)),
    credential,
    traceparent,
    warnings,
    log,
    timings,
    request: { ...request, body: body ? bytes(body.body) : Buffer.alloc(0) },
    ...parts,
  };
}

/** What resulted from an event, in order. */
async function partsOf(
  reader: Reader,
  { id, actions }: EventSummary,
): Promise<Pick<EventRecord, "runs" | "entries" | "deliveries">> {
  const { all, tables, clockOffsetMs } = reader;
  // Runs are found by the ids in the receipts: an index on the event would cost every accept.
  const found = await all(
    `SELECT * FROM ${tables.runs} WHERE id = ANY($1::uuid[]) AND (event_id = $2 OR ${tables.isJoined}) ORDER BY seq`,
    [actions.flatMap(({ runId }) => runId ?? []), id],
  );
  const steps = await withSteps(reader, await reader.withJoined(await toWaitingRuns(reader, found)));
  const runs = await withFailedAttempts(reader, steps);
  // Entries and deliveries of a run that it joined have the id of that run's event.
  const events = [id, ...runs.flatMap(({ eventId }) => eventId ?? [])];
  const values = [events, id, runs.map((run) => run.id)];
  const own = "(event_id = $2 OR run_id = ANY($3::uuid[])) ORDER BY seq";
  const entries = await all(`SELECT * FROM ${tables.entries} WHERE ${tables.isOfEvents} AND ${own}`, values);
  const deliveries = await all(`SELECT * FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) AND ${own}`, values);
  return {
    runs,
    entries: entries.map(rows.toEntry),
    deliveries: await withFailedAttempts(
      reader,
      deliveries.map((row) => rows.toDelivery(row, clockOffsetMs)),
    ),
  };
}

async function withFailedAttempts<Work extends Run | Delivery>({ all }: Reader, works: Work[]): Promise<Work[]> {
  const found = await all("SELECT * FROM hookline.failed_attempts WHERE work_id = ANY($1::uuid[]) ORDER BY n", [
    works.map(({ id }) => id),
  ]);
  if (found.length === 0) return works;
  const attempts = Map.groupBy(found, (row) => text(row.work_id));
  return works.map((work) => ({ ...work, failedAttempts: attempts.get(work.id)?.map(rows.toFailedAttempt) }));
}

async function withSteps({ all }: Reader, runs: Run[]): Promise<Run[]> {
  const ids = runs.map(({ id }) => id);
  const found = await all("SELECT run_id, detail FROM hookline.steps WHERE run_id = ANY($1::uuid[]) ORDER BY n", [ids]);
  if (found.length === 0) return runs;
  const steps = Map.groupBy(found, (row) => text(row.run_id));
  return runs.map((run) => ({ ...run, steps: steps.get(run.id)?.map(toStep) }));
}

function toStep({ detail }: Row): Step {
  return JSON.parse(text(detail));
}

/* Runs and deliveries */

export async function listRuns(reader: Reader, page: Page & RunFilter): Promise<Run[]> {
  const { state, hook, sessionKey } = page;
  const conditions: Condition[] = [
    ["hook =", hook],
    ["session_key =", sessionKey],
  ];
  return toWaitingRuns(reader, await listQueue(reader, reader.tables.runs, { page, state, conditions }));
}

/** With what each of them waits for. */
async function toWaitingRuns(reader: Reader, found: Row[]): Promise<Run[]> {
  const runs = found.map((row) => rows.toRun(row, reader.clockOffsetMs));
  const isReady = ({ state }: Run): boolean => state === "ready";
  const queued = runs.filter(({ state }) => state === "queued");
  if (queued.length === 0 && !runs.some(isReady)) return runs;
  const paused = new Set((await listPauses(reader)).map(({ mapping }) => mapping));
  const firsts = await readFirsts(
    reader,
    queued.map(({ sessionKey }) => sessionKey),
  );
  return runs.map((run, index) => {
    const mapping = text(found[index]?.mapping);
    if (isReady(run)) return paused.has(mapping) ? { ...run, waitsFor: { kind: "paused", mapping } } : run;
    const first = run.state === "queued" ? firsts.get(run.sessionKey) : undefined;
    return first ? { ...run, waitsFor: toWait(first, paused) } : run;
  });
}

interface First {
  run: Run;
  mapping: string;
}

/** The first unfinished run of each session. */
async function readFirsts({ all, tables }: Reader, sessions: string[]): Promise<Map<string, First>> {
  if (sessions.length === 0) return new Map();
  const found = await all(
    `SELECT * FROM ${tables.runs} WHERE session_key = ANY($1::text[]) AND finished_at IS NULL AND state <> 'queued'`,
    [sessions],
  );
  return new Map(
    found.map((row) => [
      text(row.session_key),
      { run: rows.toRun({ ...row, action: null }), mapping: text(row.mapping) },
    ]),
  );
}

function toWait({ run: { id, eventId, state, holdReason }, mapping }: First, paused: ReadonlySet<string>): RunWait {
  const first = { runId: id, eventId, holdReason };
  if (state === "held") return { kind: "held", ...first };
  return state === "ready" && paused.has(mapping) ? { kind: "paused", ...first, mapping } : { kind: "turn", ...first };
}

export async function getRun(reader: Reader, id: string): Promise<Run | undefined> {
  const { get, tables, clockOffsetMs } = reader;
  const row = isId(id) ? await get(`SELECT * FROM ${tables.runs} WHERE id = $1`, [id]) : undefined;
  return row && (await withFailedAttempts(reader, [rows.toRun(row, clockOffsetMs)]))[0];
}

/** Both stores keep the token of the last claim. */
export async function isClaimed({ get }: Reader, { id, token }: Claim): Promise<boolean> {
  const claimed = "SELECT 1 AS found FROM hookline.runs WHERE id = $1 AND claims = $2 AND state = 'running'";
  return (await get(claimed, [id, token])) !== undefined;
}

export async function listDeliveries(reader: Reader, page: Page & DeliveryFilter): Promise<Delivery[]> {
  const { state, channel } = page;
  const conditions: Condition[] = [["channel =", channel]];
  const found = await listQueue(reader, "hookline.deliveries", { page, state, conditions });
  return found.map((row) => rows.toDelivery(row, reader.clockOffsetMs));
}

async function listQueue(
  reader: Reader,
  from: string,
  { page, state, conditions }: { page: Page; state?: string | string[]; conditions: Condition[] },
): Promise<Row[]> {
  const { limit, before } = page;
  if (before !== undefined && !isId(before)) return [];
  const ofState: Condition = [Array.isArray(state) ? "state = ANY" : "state =", state];
  return listPage(reader, { from, conditions: [ofState, ...conditions, ...withinPage(reader, from, page)], limit });
}

/** Ids sort by time, and so does `seq`. */
export function withinPage(reader: Reader, from: string, page: Page): Condition[] {
  const first = page.from === undefined ? undefined : firstIdAt(page.from);
  const end = page.to === undefined ? undefined : firstIdAt(page.to);
  if (reader.tables.order === "id") {
    return [
      ["id <", page.before],
      ["id >=", first],
      ["id <", end],
    ];
  }
  return [
    [`seq < (SELECT seq FROM ${from} WHERE id = $before)`, page.before],
    [`seq >= (SELECT seq FROM ${from} WHERE id >= $before ORDER BY id LIMIT 1)`, first],
    [`seq <= (SELECT seq FROM ${from} WHERE id < $before ORDER BY id DESC LIMIT 1)`, end],
  ];
}

/** SQL in front of the value, or around `$before`. */
export type Condition = [sql: string, value: ReadValue];

/** The newest rows that meet the conditions whose value is given. */
export async function listPage(
  { all, tables }: Reader,
  { from, conditions, limit }: { from: string; conditions: Condition[]; limit: number },
): Promise<Row[]> {
  const { where, values } = toWhere(conditions);
  const sql = `SELECT * FROM ${from} ${where} ORDER BY ${tables.order} DESC LIMIT $${values.length + 1}`;
  return all(sql, [...values, limit]);
}

function toWhere(conditions: Condition[]): { where: string; values: ReadValue[] } {
  const given = conditions.filter(([, value]) => value !== undefined);
  const terms = given.map(([sql], index) =>
    sql.includes("$before") ? sql.replace("$before", `$${index + 1}`) : `${sql} ($${index + 1})`,
  );
  return { where: terms.length > 0 ? `WHERE ${terms.join(" AND ")}` : "", values: given.map(([, value]) => value) };
}

export async function countReplies({ get }: Reader, conversation: string, since: number): Promise<number> {
  const row = await get(
    "SELECT count(*) AS replies FROM hookline.deliveries WHERE conversation = $1 AND created_at >= $2",
    [conversation, since],
  );
  return integer(row?.replies ?? 0);
}

export async function wasSent(
  { get }: Reader,
  messageId: string,
  since: number,
  channel?: ChannelName,
): Promise<boolean | undefined> {
  const sent = "SELECT 1 AS sent FROM hookline.sent_messages WHERE id = $1 AND sent_at >= $2";
  const isFound = await (channel === undefined
    ? get(sent, [messageId, since])
    : get(`${sent} AND channel = $3`, [messageId, since, channel]));
  if (isFound) return true;
  return (await get("SELECT 1 AS sending FROM hookline.deliveries WHERE state = 'sending' LIMIT 1"))
    ? undefined
    : false;
}

export async function lastRoute({ get }: Reader, channel?: ChannelName): Promise<Route | undefined> {
  const condition = channel === undefined ? "" : "WHERE channel = $1";
  const values = channel === undefined ? [] : [channel];
  return toRoute(await get(`SELECT * FROM hookline.routes ${condition} ORDER BY seq DESC LIMIT 1`, values));
}

export async function operatorRoute({ get }: Reader): Promise<Route | undefined> {
  return toRoute(await get("SELECT * FROM hookline.routes WHERE chosen_by = 'operator' ORDER BY seq DESC LIMIT 1"));
}

function toRoute(row: Row | undefined): Route | undefined {
  return row && { channel: text(row.channel), to: text(row.recipient) };
}

/* Sessions */

/** The one with the newest entry first. */
export async function listSessions({ all }: Reader, { limit }: { limit: number }): Promise<SessionSummary[]> {
  return (await all("SELECT * FROM hookline.sessions ORDER BY updated_at DESC LIMIT $1", [limit])).map(rows.toSession);
}

export async function getSession(
  { get, all, tables }: Reader,
  key: string,
  { limit, after = 0, before }: { limit: number; after?: number; before?: number },
): Promise<{ session: SessionSummary; entries: Entry[] } | undefined> {
  const session =
    (await get("SELECT * FROM hookline.sessions WHERE key = $1", [key])) ?? (await get(tables.emptySession, [key]));
  if (!session) return undefined;
  const [cursor, order] = before === undefined ? ["seq > $2", "seq"] : ["seq < $2", "seq DESC"];
  const sql = `SELECT * FROM ${tables.entries} WHERE session_key = $1 AND ${cursor} ORDER BY ${order} LIMIT $3`;
  const entries = (await all(sql, [key, before ?? after, limit])).map(rows.toEntry);
  return { session: rows.toSession(session), entries: before === undefined ? entries : entries.toReversed() };
}

export async function history({ all, tables }: Reader, sessionKey: string, limit: number): Promise<Turn[]> {
  const isMain = sessionKey === MAIN_SESSION;
  const [from, key] = isMain ? [tables.mainTurns, `'${MAIN_SESSION}'`] : ["hookline.entries", "$2"];
  const newestFirst = await all(
    `SELECT role, text, boundary, sources, at FROM ${from} WHERE session_key = ${key} AND role <> 'system'
     ORDER BY seq DESC LIMIT +$1::int`,
    isMain ? [limit] : [limit, sessionKey],
  );
  return newestFirst.toReversed().map(rows.toTurn);
}

export async function listPendingSystemEvents({ all, tables }: Reader, limit = MAX_INTEGER): Promise<Entry[]> {
  const sql = `SELECT * FROM ${tables.entries} WHERE pending = 1 ORDER BY seq LIMIT +$1::int`;
  return (await all(sql, [limit])).map(rows.toEntry);
}

const MAX_INTEGER = 2 ** 31 - 1;

export async function listSteps({ all }: Reader, runId: string): Promise<Step[]> {
  if (!isId(runId)) return [];
  const found = await all("SELECT detail FROM hookline.steps WHERE run_id = $1 ORDER BY n", [runId]);
  return found.map(toStep);
}

/** The ids of runs whose claim is lost. */
export async function findLost({ all }: Reader, claims: Claim[]): Promise<string[]> {
  if (claims.length === 0) return [];
  const held = await all("SELECT id, claims FROM hookline.runs WHERE id = ANY($1::uuid[]) AND state = 'running'", [
    claims.map(({ id }) => id),
  ]);
  const tokens = new Map(held.map((row) => [text(row.id), integer(row.claims)]));
  return claims.filter(({ id, token }) => tokens.get(id) !== token).map(({ id }) => id);
}

export async function listPauses({ all }: Reader): Promise<Pause[]> {
  const found = await all("SELECT mapping, since FROM hookline.pauses ORDER BY mapping");
  return found.map((row) => ({
    mapping: text(row.mapping),
    since: integer(row.since),
  }));
}

export async function findAnswer({ get }: Reader, eventId: string): Promise<Answer | null | undefined> {
  const row = isId(eventId)
    ? await get("SELECT answer FROM hookline.answers WHERE event_id = $1", [eventId])
    : undefined;
  return row && JSON.parse(text(row.answer));
}

export async function readSpend(
  { all }: Reader,
  { since, until, sessionKey }: { since: number; until?: number; sessionKey?: string },
): Promise<Spend[]> {
  return (await all(READ_SPEND, [since, sessionKey, until])).map(rows.toSpend);
}

const READ_SPEND = `
  SELECT hour - hour % 86400000 AS day, hook, mapping, model, sum(runs)::bigint AS runs, sum(input_tokens)::bigint AS input_tokens,
    sum(output_tokens)::bigint AS output_tokens, sum(cost) AS cost
  FROM hookline.spend
  WHERE hour >= $1 AND ($2::text IS NULL OR session_key = $2) AND ($3::bigint IS NULL OR hour < $3)
  GROUP BY 1, hook, mapping, model ORDER BY sum(cost) DESC, sum(input_tokens) + sum(output_tokens) DESC`;

export async function listNotes({ all, clockOffsetMs }: Reader, kind: string): Promise<Note[]> {
  const found = await all(
    `SELECT key, value FROM hookline.notes
     WHERE kind = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY key`,
    [kind, Date.now() + clockOffsetMs],
  );
  return found.map(({ key, value }) => ({ key: text(key), json: text(value) }));
}

export async function readState({ all, clockOffsetMs }: Reader, mapping: string, keys: string[]): Promise<StateRow[]> {
  const found = await all(
    `SELECT key, version, value FROM hookline.state
     WHERE mapping = $1 AND key = ANY($2::text[]) AND (expires_at IS NULL OR expires_at > $3)`,
    [mapping, keys, Date.now() + clockOffsetMs],
  );
  return found.map(({ key, version, value }) => ({ key: text(key), version: text(version), json: text(value) }));
}
