import { firstIdAt, isId } from "../../shared/id.ts";
import { type UnfinishedWord, toUnfinishedWord } from "../../shared/words.ts";
import { DELIVERY_STATES, EVENT_STATUSES, type EventStatus, RUN_STATES } from "../../types.ts";
import type { FailedFilter, Page } from "../journal.ts";
import type { Answer, EventRecord, EventSummary, MappingCount } from "../records/event.ts";
import { bytes, integer, oneOf, optional, type Row, text } from "../columns.ts";
import * as rows from "../rows.ts";
import { FAILED_REQUEST } from "../conditions.ts";
import { listPage, toWhere, type Reader, withinPage } from "./reader.ts";
import { toWaitingRuns, withFailedAttempts, withSteps } from "./runs.ts";

export async function listEvents(
  reader: Reader,
  page: Page & { prefix?: string; ids?: string[]; hook?: string; status?: EventStatus },
): Promise<EventSummary[]> {
  const events = (await listEventRows(reader, page)).map(rows.toEventSummary);
  return withOutcomes(reader, await withUnfinished(reader, events));
}

/** The rows of a list: for `toEventSummary`. */
export async function listEventRows(reader: Reader, page: Parameters<typeof listEvents>[1]): Promise<Row[]> {
  const { prefix, ids, hook, status } = page;
  const [first, last] = prefix === undefined ? [] : toBounds(prefix);
  if (prefix !== undefined && first === undefined) return [];
  return listPage(reader, reader.tables.events, page, [
    ["hook =", hook],
    ["status =", status],
    ["id >=", first],
    ["id <=", last],
    ["id = ANY", ids?.filter(isId)],
  ]);
}

/** Failed requests that nobody has treated, newest first. */
export async function listFailedRequests(
  { all, tables }: Reader,
  { limit, hook, mapping, group, from = 0, to = Infinity }: FailedFilter & { limit: number },
): Promise<EventSummary[]> {
  const found = await all(
    `SELECT * FROM ${tables.failedRequests} WHERE ${FAILED_REQUEST} AND ($2::text IS NULL OR hook = $2)
       AND ($3::text IS NULL OR ${tables.mappingOf} = $3) AND ($4::text IS NULL OR failure_group = $4)
       AND id >= $5 AND id < $6 ORDER BY id DESC LIMIT $1`,
    [limit, hook, mapping, group, firstIdAt(from), firstIdAt(to)],
  );
  return found.map(rows.toEventSummary);
}

/** The lowest and the highest id with these digits in front; undefined if no id has them. */
function toBounds(prefix: string): [string?, string?] {
  const bounds = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"].map(
    (rest) => prefix + rest.slice(prefix.length),
  );
  return bounds.every(isId) ? [bounds[0], bounds[1]] : [];
}

/** Adds the word of those that are accepted. */
async function withUnfinished(reader: Reader, events: EventSummary[]): Promise<EventSummary[]> {
  const open = events.filter(({ status }) => status === "accepted");
  if (open.length === 0) return events;
  const words = await findUnfinished(reader, open);
  return events.map((event) => ({ ...event, ...(event.status === "accepted" && { unfinished: words.get(event.id) }) }));
}

/** The word of each accepted event, by its id. */
export async function findUnfinished(
  { all, tables }: Reader,
  events: Pick<EventSummary, "id" | "actions">[],
): Promise<Map<string, UnfinishedWord>> {
  const ids = events.flatMap(({ actions }) => actions.flatMap(({ runId }) => runId ?? []));
  const runs = await all(`SELECT id, event_id, state FROM ${tables.runs} WHERE id = ANY($1::uuid[])`, [ids]);
  // Deliveries of a joined run have the id of the event that the run was made for.
  const deliveries = await all(
    "SELECT run_id, state FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) AND finished_at IS NULL",
    [[...new Set(runs.flatMap((row) => optional(text, row.event_id ?? null) ?? []))]],
  );
  const stateOf = new Map(runs.map((row) => [text(row.id), oneOf(RUN_STATES, row.state)]));
  const ofRun = Map.groupBy(deliveries, (row) => text(row.run_id));
  return new Map(
    events.map(({ id, actions }) => {
      const own = new Set(actions.flatMap(({ runId }) => runId ?? []));
      const turns = [...own].flatMap((runId) => stateOf.get(runId) ?? []);
      const messages = [...own].flatMap((runId) => ofRun.get(runId) ?? []);
      const states = messages.map((row) => oneOf(DELIVERY_STATES, row.state));
      return [id, toUnfinishedWord(turns, states)];
    }),
  );
}

/** Adds the run and its most telling delivery to those events that have a single run: what became of them is one line. */
async function withOutcomes(reader: Reader, events: EventSummary[]): Promise<EventSummary[]> {
  const ids = events.flatMap((event) => findSingleRun(event) ?? []);
  if (ids.length === 0) return events;
  const { runs: from } = reader.tables;
  const found = await reader.all(`SELECT * FROM ${from} WHERE id = ANY($1::uuid[])`, [ids]);
  const runs = await toWaitingRuns(
    reader,
    found.map((row) => ({ ...row, action: null })),
  );
  // Deliveries of a joined run have the id of the event that the run was made for.
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
    const runId = findSingleRun(event);
    return runId === undefined ? event : { ...event, ...rows.toOutcome(runById.get(runId), ofRun.get(runId)) };
  });
}

export async function getEvent(reader: Reader, id: string): Promise<EventRecord | undefined> {
  if (!isId(id)) return undefined;
  const row = await reader.get(`SELECT * FROM ${reader.tables.events} WHERE id = $1`, [id]);
  if (!row) return undefined;
  const body = await reader.get(reader.tables.body, [id]);
  const summary = rows.toEventSummary(row);
  const parts = await partsOf(reader, summary);
  const { request, credential, traceparent, warnings, log, timings } = rows.toDetail(row);
  const runId = findSingleRun(summary);
  const deliveries = parts.deliveries.filter((each) => each.runId === runId);
  return {
    ...summary,
    ...(summary.status === "accepted" && {
      unfinished: toUnfinishedWord(statesOf(parts.runs), statesOf(parts.deliveries)),
    }),
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

function statesOf<State>(work: readonly { state: State }[]): State[] {
  return work.map(({ state }) => state);
}

/** The runs, entries and deliveries of an event, in order. */
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

/** Counts the events since a time, by mapping and status. */
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

/** How many events are counted by their mappings: the newest ones. */
const MAX_OF_MAPPINGS = 200_000;

export async function findAnswer({ get }: Reader, eventId: string): Promise<Answer | null | undefined> {
  const row = isId(eventId)
    ? await get("SELECT answer FROM hookline.answers WHERE event_id = $1", [eventId])
    : undefined;
  return row && JSON.parse(text(row.answer));
}

/** The event's only run, whose outcome fits its line in a list. Undefined if there are none or several. */
function findSingleRun({ actions }: Pick<EventSummary, "actions">): string | undefined {
  const [runId, ...others] = new Set(actions.flatMap((action) => action.runId ?? []));
  return others.length === 0 ? runId : undefined;
}
