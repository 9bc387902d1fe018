import type { EventRecord } from "../journal.ts";
import type { EventDetail as StoredDetail } from "../postgres/accept.ts";
import { bytes, integer, optional, type Row, text } from "../rows.ts";
import type { Database } from "../sqlite/database.ts";
import { SELECT_ENTRIES, SELECT_WAKE, toEntry } from "../sqlite/entries.ts";
import type { EventDetail } from "../sqlite/accept.ts";
import { SELECT_RUNS, toRun } from "../sqlite/runs.ts";
import { copyOf, type Source, type TargetRow } from "./source.ts";

/** The tables of a journal, except its leases: the nodes of a database have their own. */
export function journalSources(database: Database): Source[] {
  return [
    {
      name: "events",
      database,
      select: "SELECT events.*, bodies.body AS wide_body FROM events LEFT JOIN bodies ON event_seq = seq",
      table: "events",
      key: ["seq"],
      toRows: toEventRows,
    },
    {
      name: "wakes",
      database,
      select: SELECT_WAKE,
      table: "events",
      // Without its index, whose order is another one.
      where: "+pending IS NOT NULL",
      key: ["seq"],
      toRows: toEntryRows,
    },
    { name: "entries", database, select: SELECT_ENTRIES, table: "entries", key: ["entries.seq"], toRows: toEntryRows },
    { name: "runs", database, select: SELECT_RUNS, table: "runs", key: ["runs.seq"], toRows: toRunRows },
    {
      name: "joined_events",
      database,
      select: SELECT_JOINED,
      table: "joined_events",
      key: ["joined.run_seq", "joined.place"],
      toRows: toJoinedRows,
    },
    copyOf(database, "run_starts", { key: ["mapping", "started_at", "run_seq"] }),
    copyOf(database, "sessions", { key: ["key"] }),
    copyOf(database, "deliveries", { key: ["seq"], change: (row) => ({ ...row, edits: row.edits ?? 0 }) }),
    copyOf(database, "routes", { key: ["seq"] }),
    copyOf(database, "sent_messages", { key: ["id"] }),
    copyOf(database, "idempotency_keys", { key: ["scope", "key"], change: withEventId }),
    copyOf(database, "spend", { key: ["hour", "session_key", "hook", "mapping", "model"] }),
  ];
}

/** The number that no event, run or entry has exceeded, also those that are deleted. */
export function readLastSeq(database: Database): number {
  return integer(database.get("SELECT last_seq FROM totals")?.last_seq);
}

/** When the oldest event was received, by its id; undefined without events. */
export function readOldest(database: Database): number | undefined {
  const id = optional(text, database.get("SELECT min(id) AS id FROM events")?.id ?? null);
  return id === undefined ? undefined : Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}

function toEventRows(row: Row): TargetRow[] {
  const { id = null, hook = null, received_at = null, status = null, open = null, lost = null } = row;
  const {
    request,
    actions = [],
    warnings = [],
    log = [],
    took,
    failure,
    ...own
  }: EventDetail = JSON.parse(text(row.detail));
  const detail: StoredDetail = { request, warnings, log, took };
  const values: Row = {
    id,
    hook,
    received_at,
    mapping: own.mapping ?? null,
    event: own.event ?? null,
    reason: own.reason ?? null,
    replay_of: own.replayOf ?? null,
    credential: own.credential ?? null,
    traceparent: own.traceparent ?? null,
    actions: JSON.stringify(actions satisfies EventRecord["actions"]),
    failure: failure ? JSON.stringify(failure) : null,
    detail: JSON.stringify(detail),
  };
  const body = bytes(row.body ?? row.wide_body);
  const bodies = body.length > 0 ? [{ table: "bodies", values: { event_id: id, body } }] : [];
  const state = { id, hook, received_at, status, open, lost };
  return [{ table: "events", values }, { table: "event_states", values: state }, ...bodies];
}

function toEntryRows(row: Row): TargetRow[] {
  const { seq, sessionKey, role, at, eventId, runId, pending, urgent, boundary, text: whole } = toEntry(row);
  const values: Row = {
    seq,
    session_key: sessionKey,
    role,
    at,
    event_id: eventId ?? null,
    run_id: runId ?? null,
    pending: Number(pending ?? false),
    urgent: Number(urgent ?? false),
    boundary: boundary === undefined ? null : JSON.stringify(boundary),
    text: whole,
  };
  return [{ table: "entries", values }];
}

function toRunRows(row: Row): TargetRow[] {
  const { action, kind } = toRun(row);
  const { event_seq: _, wide_action: __, body: ___, ...columns } = row;
  const windowKey = optional(text, row.coalesce_key ?? null);
  const values: Row = {
    ...columns,
    kind,
    action: action ? JSON.stringify(action) : null,
    // Two that differ in NUL alone would be one in PostgreSQL. Without its key the run starts, and nothing joins it any more.
    coalesce_key: windowKey?.includes("\0") ? null : (windowKey ?? null),
  };
  return [{ table: "runs", values }];
}

/** An event that is deleted already has no id. */
const SELECT_JOINED = `
  SELECT joined.run_seq, joined.place, joined.message, runs.id AS run_id,
    coalesce(events.id, '00000000-0000-0000-0000-000000000000') AS event_id
  FROM joined_events AS joined LEFT JOIN runs ON runs.seq = joined.run_seq
    LEFT JOIN events ON events.seq = joined.event_seq`;

function toJoinedRows({ run_id = null, place = null, event_id = null, message }: Row): TargetRow[] {
  const stored = optional(text, message);
  const values: Row = { run_id, place, event_id, message: stored === undefined ? null : JSON.stringify(stored) };
  return [{ table: "joined_events", values }];
}

function withEventId(row: Row): Row {
  const { eventId }: { eventId: string } = JSON.parse(text(row.receipt));
  return { ...row, event_id: eventId };
}
