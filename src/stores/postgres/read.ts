import type { JournalStats, Run } from "../../core/journal/journal.ts";
import type { Reader, ReadTables } from "../../core/journal/reads/reader.ts";
import { integer, type Row, text } from "../../core/journal/columns.ts";
import { MAX_JOINED_MESSAGES } from "../../core/journal/plan.ts";
import type { Sql } from "./database.ts";

export const TABLES: ReadTables = {
  states: "hookline.event_states",
  events: "hookline.event_states JOIN hookline.events USING (id)",
  runs: "hookline.runs",
  deadRuns: "(SELECT * FROM hookline.runs WHERE state = 'dead' AND kind = 'hook') AS runs",
  failedDeliveries: "hookline.deliveries",
  failedRequests: "hookline.event_states JOIN hookline.events USING (id)",
  entries: "hookline.entries",
  isOfEvents: "event_id = ANY($1::uuid[])",
  mainTurns: "hookline.entries",
  // Not as JSON: a text may have escapes that PostgreSQL refuses. It is the first key.
  mappingOf: `substring(detail from '^{"mapping":"([^"]*)"')`,
  order: "id",
  body: "SELECT body FROM hookline.bodies WHERE event_id = $1",
  isJoined: `EXISTS (SELECT 1 FROM hookline.joined_events AS joined
    WHERE joined.run_id = runs.id AND joined.event_id = $2)`,
  isUnfinishedKey: `EXISTS (
    SELECT 1 FROM hookline.event_states WHERE id = idempotency_keys.event_id AND status = 'accepted')`,
  emptySession: `
    SELECT session_key AS key, created_at, created_at AS updated_at, 0 AS entries FROM hookline.runs
    WHERE session_key = $1 AND (finished_at IS NULL OR (state = 'dead' AND kind = 'hook')) ORDER BY seq LIMIT 1`,
};

export function createReader(sql: Sql, clockOffsetMs: number): Reader {
  return {
    all: sql.all,
    get: sql.get,
    clockOffsetMs,
    tables: TABLES,
    withJoined: (runs) => withJoined(sql, runs),
  };
}

/** With the messages that joined them. */
export async function withJoined(sql: Sql, runs: Run[]): Promise<Run[]> {
  const ids = runs.filter(({ action }) => action?.coalesce).map(({ id }) => id);
  if (ids.length === 0) return runs;
  const rows = await sql.all(SELECT_JOINED, [ids]);
  const joined = new Map(rows.map((row) => [text(row.run_id), toJoined(row)]));
  return runs.map((run) => ({ ...run, joined: joined.get(run.id) }));
}

const SELECT_JOINED = `
  SELECT run_id, max(place) AS count,
    json_agg(message ORDER BY place) FILTER (WHERE place <= ${MAX_JOINED_MESSAGES})::text AS messages,
    (array_agg(access ORDER BY place DESC))[1] AS access
  FROM hookline.joined_events WHERE run_id = ANY($1::uuid[]) GROUP BY run_id`;

function toJoined(row: Row): NonNullable<Run["joined"]> {
  const stored: string[] = JSON.parse(text(row.messages));
  const messages = stored.map((message): string => JSON.parse(message));
  const access = row.access ? JSON.parse(text(row.access)) : undefined;
  return { messages, leftOut: integer(row.count) - messages.length, access };
}

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
