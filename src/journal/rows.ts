import { DELIVERY_STATES } from "../types.ts";
import type { DeadLetter, Delivery, EventSummary, Run, SessionSummary, Spend } from "./records.ts";

/* How the rows of both stores become records, as far as their columns are the same. */

/** Columns by name. */
export type Row = Record<string, null | number | bigint | string | Uint8Array>;

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

/** What became of an event with a single run is one line. Undefined for the others. */
export function findSingleRun({ actions }: Pick<EventSummary, "actions">): string | undefined {
  const [runId, ...others] = actions.flatMap((action) => action.runId ?? []);
  return others.length === 0 ? runId : undefined;
}

/** What a list shows of an event's single run, and of the newest of its deliveries. */
export function toOutcome(
  run: Run | undefined,
  delivery: Delivery | undefined,
): Pick<EventSummary, "run" | "delivery"> {
  return { run: run && summarizeRun(run), delivery: delivery && summarizeDelivery(delivery) };
}

function summarizeRun({ id, state, attempts, startedAt, finishedAt, error, holdReason }: Run): EventSummary["run"] {
  return { id, state, attempts, startedAt, finishedAt, error, holdReason };
}

function summarizeDelivery(delivery: Delivery): EventSummary["delivery"] {
  const { id, state, channel, to, route, attempts, sentAt, error } = delivery;
  return { id, state, channel, to, route, attempts, sentAt, error };
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

export function bytes(column: Column): Buffer {
  if (!(column instanceof Uint8Array)) throw unexpected("bytes", column);
  return Buffer.from(column.buffer, column.byteOffset, column.byteLength);
}

export function oneOf<Member extends string>(members: readonly Member[], column: Column): Member {
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
