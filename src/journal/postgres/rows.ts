import { DELIVERY_STATES, EVENT_STATUSES, RUN_STATES } from "../../types.ts";
import {
  type DeadLetter,
  type Delivery,
  type Entry,
  ENTRY_ROLES,
  type EventRecord,
  type EventSummary,
  type NewEvent,
  type Run,
  type SessionSummary,
  type Spend,
  type StoredRequest,
  type TurnOutcome,
} from "../records.ts";

/** Columns by name. */
export type Row = Record<string, null | number | bigint | string | Uint8Array>;

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

export function toDelivery(row: Row): Delivery {
  const state = oneOf(DELIVERY_STATES, row.state);
  return {
    id: text(row.id),
    runId: text(row.run_id),
    eventId: optional(text, row.event_id),
    channel: text(row.channel),
    to: optional(text, row.recipient),
    text: text(row.text),
    conversation: optional(text, row.conversation),
    update: row.edits === 1 ? true : undefined,
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

export function toSession(row: Row): SessionSummary {
  return {
    key: text(row.key),
    createdAt: integer(row.created_at),
    updatedAt: integer(row.updated_at),
    entries: integer(row.entries),
  };
}

export function toSpend(row: Row): Spend {
  return {
    hook: text(row.hook),
    mapping: text(row.mapping),
    model: text(row.model),
    runs: integer(row.runs),
    inputTokens: integer(row.input_tokens),
    outputTokens: integer(row.output_tokens),
    cost: real(row.cost),
  };
}

export function toDeadLetter(row: Row): DeadLetter {
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

/** What became of an event with a single run is one line. Undefined for the others. */
export function findSingleRun({ actions }: Pick<EventSummary, "actions">): string | undefined {
  const [runId, ...others] = actions.flatMap((action) => action.runId ?? []);
  return others.length === 0 ? runId : undefined;
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
  return { ...event, run: run && summarizeRun(run), delivery: delivery && summarizeDelivery(delivery) };
}

function summarizeRun({ id, state, attempts, startedAt, finishedAt, error, holdReason }: Run): EventSummary["run"] {
  return { id, state, attempts, startedAt, finishedAt, error, holdReason };
}

function summarizeDelivery(delivery: Delivery): EventSummary["delivery"] {
  const { id, state, channel, to, route, attempts, sentAt, error } = delivery;
  return { id, state, channel, to, route, attempts, sentAt, error };
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

/* Columns get their types here. Each function throws on anything that this program did not write. */

type Column = Row[string] | undefined;

export function text(column: Column): string {
  if (typeof column !== "string") throw unexpected("text", column);
  return column;
}

export function integer(column: Column): number {
  if (typeof column !== "number") throw unexpected("an integer", column);
  return column;
}

function real(column: Column): number {
  if (typeof column !== "number") throw unexpected("a number", column);
  return column;
}

function bytes(column: Column): Buffer {
  if (!(column instanceof Uint8Array)) throw unexpected("bytes", column);
  return Buffer.from(column.buffer, column.byteOffset, column.byteLength);
}

function oneOf<Member extends string>(members: readonly Member[], column: Column): Member {
  const found = members.find((member) => member === column);
  if (found === undefined) throw unexpected(members.join(" or "), column);
  return found;
}

/** NULL is undefined; anything else is read by `read`. */
export function optional<Value>(read: (column: Column) => Value, column: Column): Value | undefined {
  return column === null ? undefined : read(column);
}

function unexpected(expected: string, column: Column): TypeError {
  return new TypeError(`a column holds ${typeof column}, expected ${expected}`);
}
