import { DELIVERY_STATES, EVENT_STATUSES, RUN_STATES } from "../../types.ts";
import type { JournalStats } from "../journal.ts";
import {
  type DeadLetter,
  type Delivery,
  type Entry,
  ENTRY_ROLES,
  type EventRecord,
  type EventSummary,
  type NewEvent,
  type Route,
  type Run,
  RUN_KINDS,
  type SessionSummary,
  type StoredRequest,
  type TurnOutcome,
} from "../records.ts";
import { bytes, integer, oneOf, optional, type SqlRow, text } from "./database.ts";

/* Rows as records. Parts that are only read whole are stored as JSON in one column. */

type Detail = Pick<NewEvent, "warnings" | "log" | "failure"> & { request: Omit<StoredRequest, "body"> };
type Outcome = Pick<Run, "reply" | "model" | "usage" | "warnings">;

/** The `detail` column of an event. */
export function toDetail(event: NewEvent): string {
  const { body: _body, ...request } = event.request;
  const { warnings, log, failure } = event;
  return JSON.stringify({ request, warnings, log, failure } satisfies Detail);
}

/** The `outcome` column of a run. */
export function toOutcome({ reply, model, usage, warnings }: TurnOutcome): string {
  return JSON.stringify({ reply, model, usage, warnings } satisfies Outcome);
}

export function toEventSummary(row: SqlRow): EventSummary {
  return {
    id: text(row.id),
    hook: text(row.hook),
    mapping: optional(text, row.mapping),
    receivedAt: integer(row.received_at),
    replayOf: optional(text, row.replay_of),
    status: oneOf(EVENT_STATUSES, row.status),
    actions: JSON.parse(text(row.actions)),
  };
}

export function toEventRecord(row: SqlRow, parts: Pick<EventRecord, "runs" | "entries" | "deliveries">): EventRecord {
  const { request, ...detail }: Detail = JSON.parse(text(row.detail));
  return {
    ...toEventSummary(row),
    credential: optional(text, row.credential),
    traceparent: optional(text, row.traceparent),
    ...detail,
    request: { ...request, body: bytes(row.body) },
    ...parts,
  };
}

/** Rows for `toRun`. */
export const SELECT_RUNS = "SELECT runs.*, action FROM runs LEFT JOIN run_actions ON run_seq = seq";

export function toRun(row: SqlRow): Run {
  const outcome: Outcome = row.outcome === null ? { warnings: [] } : JSON.parse(text(row.outcome));
  return {
    id: text(row.id),
    kind: oneOf(RUN_KINDS, row.kind),
    eventId: optional(text, row.event_id),
    hook: optional(text, row.hook),
    sessionKey: text(row.session_key),
    action: row.action === null ? undefined : JSON.parse(text(row.action)),
    state: oneOf(RUN_STATES, row.state),
    attempts: integer(row.attempts),
    createdAt: integer(row.created_at),
    dueAt: integer(row.due_at),
    startedAt: optional(integer, row.started_at),
    finishedAt: optional(integer, row.finished_at),
    error: optional(text, row.error),
    ...outcome,
  };
}

export function toDelivery(row: SqlRow): Delivery {
  const state = oneOf(DELIVERY_STATES, row.state);
  return {
    id: text(row.id),
    runId: text(row.run_id),
    eventId: optional(text, row.event_id),
    channel: text(row.channel),
    to: optional(text, row.recipient),
    text: text(row.text),
    state,
    attempts: integer(row.attempts),
    createdAt: integer(row.created_at),
    dueAt: integer(row.due_at),
    partsSent: integer(row.parts_sent),
    route: row.route === null ? undefined : JSON.parse(text(row.route)),
    sentAt: state === "sent" ? integer(row.finished_at) : undefined,
    error: optional(text, row.error),
  };
}

export function toDeadLetter(row: SqlRow): DeadLetter {
  return {
    id: text(row.id),
    kind: oneOf(["run", "delivery"], row.kind),
    eventId: optional(text, row.event_id),
    hook: optional(text, row.hook),
    error: text(row.error),
    attempts: integer(row.attempts),
    at: integer(row.finished_at),
  };
}

export function toEntry(row: SqlRow): Entry {
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
  };
}

export function toSession(row: SqlRow): SessionSummary {
  return {
    key: text(row.key),
    createdAt: integer(row.created_at),
    updatedAt: integer(row.updated_at),
    entries: integer(row.entries),
  };
}

export function toRoute(row: SqlRow): Route {
  return { channel: text(row.channel), to: text(row.recipient) };
}

export function toStats(row: SqlRow): JournalStats {
  return {
    events: integer(row.events),
    pendingRuns: integer(row.pending_runs),
    pendingDeliveries: integer(row.pending_deliveries),
    pendingSystemEvents: integer(row.pending_system_events),
  };
}
