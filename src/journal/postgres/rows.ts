import { EVENT_STATUSES, RUN_STATES } from "../../types.ts";
import {
  type Entry,
  ENTRY_ROLES,
  type EventRecord,
  type EventSummary,
  type NewEvent,
  type Run,
  type StoredRequest,
  type TurnOutcome,
} from "../records.ts";
import { bytes, findSingleRun, integer, oneOf, optional, type Row, text, toOutcome } from "../rows.ts";

/* Rows become records here. */

/** The `outcome` column: what is only read whole. */
type Outcome = Pick<Run, "reply" | "model" | "usage" | "cost" | "warnings">;

export function toOutcomeText({ reply, model, usage, cost, warnings }: TurnOutcome): string {
  return JSON.stringify({ reply, model, usage, cost, warnings } satisfies Outcome);
}

export function toRun(row: Row): Run {
  const outcome: Outcome = row.outcome === null ? { warnings: [] } : JSON.parse(text(row.outcome));
  return {
    id: text(row.id),
    kind: oneOf(["hook", "heartbeat"], row.kind),
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
    holdReason: row.state === "held" ? optional(text, row.hold_reason) : undefined,
    error: optional(text, row.error),
    ...outcome,
  };
}

export function toEntry(row: Row): Entry {
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

/** The `detail` column: what is only read whole. */
export interface EventDetail extends Pick<NewEvent, "warnings" | "log" | "took"> {
  request: Omit<StoredRequest, "body">;
}

export function toEventSummary(row: Row): EventSummary {
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
export function withOutcome<Event extends EventSummary>(
  event: Event,
  { runs, deliveries }: Pick<EventRecord, "runs" | "deliveries">,
): Event {
  const runId = findSingleRun(event);
  if (runId === undefined) return event;
  const run = runs.find(({ id }) => id === runId);
  const delivery = deliveries.findLast((each) => each.runId === runId);
  return { ...event, ...toOutcome(run, delivery) };
}

export function toEventRecord(row: Row, parts: Pick<EventRecord, "runs" | "entries" | "deliveries">): EventRecord {
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
