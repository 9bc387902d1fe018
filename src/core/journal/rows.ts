import {
  type ActionReceipt,
  APPROVAL_STATES,
  DELIVERY_STATES,
  EVENT_STATUSES,
  type KeptChange,
  ROUTE_ORIGINS,
  RUN_STATES,
} from "../types.ts";
import { integer, oneOf, optional, real, type Row, text } from "./columns.ts";
import type { FailedAttempt, Interruptions } from "./records/failed-attempt.ts";
import type { Commit } from "./plan.ts";
import type { Approval, NewApproval, NewDecision } from "./records/approval.ts";
import type { DeadLetter, Delivery } from "./records/delivery.ts";
import type { EventSummary, NewEvent, StoredRequest } from "./records/event.ts";
import type { Run, Spend, TurnOutcome } from "./records/run.ts";
import { type Entry, ENTRY_ROLES, type SessionSummary, type Turn } from "./records/session.ts";
import type { Step } from "./records/step.ts";

/* How records become rows, and rows records: the columns of both stores are the same. */

/** The `detail` column of an event: what no condition of a list needs. */
export interface EventDetail extends Pick<
  NewEvent,
  | "mapping"
  | "event"
  | "subject"
  | "reason"
  | "leftOutBy"
  | "replayOf"
  | "credential"
  | "traceparent"
  | "timings"
  | "failure"
> {
  request: Omit<StoredRequest, "body">;
  actions: ActionReceipt[];
  warnings: NewEvent["warnings"];
  log: NewEvent["log"];
}

export function fromEvent(event: NewEvent, { receipt, log }: Commit): string {
  const { mapping, event: name, subject, reason, leftOutBy, replayOf, credential, traceparent } = event;
  const { timings, failure, warnings } = event;
  const { body: _, ...request } = event.request;
  const { actions } = receipt;
  const own = { mapping, event: name, subject, reason, leftOutBy, replayOf, credential, traceparent };
  const detail: EventDetail = { ...own, request, actions, warnings, log, timings, failure };
  return JSON.stringify(detail);
}

export function toDetail(row: Row): EventDetail {
  return JSON.parse(text(row.detail));
}

export function toEventSummary(row: Row): EventSummary {
  const { mapping, event, subject, reason, leftOutBy, replayOf, actions, failure } = toDetail(row);
  return {
    id: text(row.id),
    hook: text(row.hook),
    mapping,
    event,
    subject,
    reason,
    leftOutBy,
    receivedAt: integer(row.received_at),
    replayOf,
    status: oneOf(EVENT_STATUSES, row.status),
    actions,
    failure,
    open: integer(row.open),
    dead: integer(row.dead),
    canceled: integer(row.canceled),
    failureGroup: optional(text, row.failure_group ?? null),
    replayedBy: optional(text, row.replay_id ?? null),
  };
}

/** The `outcome` column of a run. */
type Outcome = Pick<Run, "reply" | "model" | "usage" | "cost" | "warnings">;

export function fromOutcome({ reply, model, usage, cost, warnings }: TurnOutcome): string {
  return JSON.stringify({ reply, model, usage, cost, warnings } satisfies Outcome);
}

/** With its times by the clock of this process. A heartbeat's are that clock's already. */
export function toRun(row: Row, clockOffsetMs = 0): Run {
  const kind = oneOf(["hook", "heartbeat"], row.kind);
  const outcome: Outcome = row.outcome === null ? { warnings: [] } : JSON.parse(text(row.outcome));
  return {
    id: text(row.id),
    kind,
    eventId: optional(text, row.event_id),
    hook: optional(text, row.hook),
    mapping: text(row.mapping) || undefined,
    sessionKey: text(row.session_key),
    action: row.action === null ? undefined : JSON.parse(text(row.action)),
    state: oneOf(RUN_STATES, row.state),
    holdReason: row.state === "held" ? optional(text, row.hold_reason) : undefined,
    attempts: integer(row.attempts),
    createdAt: integer(row.created_at),
    dueAt: integer(row.not_before ?? row.due_at) - (kind === "hook" ? clockOffsetMs : 0),
    startedAt: optional(integer, row.started_at),
    finishedAt: optional(integer, row.finished_at),
    error: optional(text, row.error),
    ...readOutage(row, clockOffsetMs),
    ...outcome,
  };
}

export function toEntry(row: Row): Entry {
  return {
    ...toTurn(row),
    seq: integer(row.seq),
    sessionKey: text(row.session_key),
    eventId: optional(text, row.event_id),
    runId: optional(text, row.run_id),
    pending: row.pending === 1 || undefined,
    urgent: row.urgent === 1 || undefined,
  };
}

export function toTurn(row: Row): Turn {
  return {
    role: oneOf(ENTRY_ROLES, row.role),
    text: text(row.text),
    boundary: row.boundary === null ? undefined : JSON.parse(text(row.boundary)),
    sources: row.sources === null ? undefined : JSON.parse(text(row.sources)),
    at: integer(row.at),
  };
}

export function toDelivery(row: Row, clockOffsetMs = 0): Delivery {
  const state = oneOf(DELIVERY_STATES, row.state);
  return {
    id: text(row.id),
    runId: text(row.run_id),
    eventId: optional(text, row.event_id),
    channel: text(row.channel),
    to: optional(text, row.recipient),
    routeBy: optional((column) => oneOf(ROUTE_ORIGINS, column), row.route_by),
    text: text(row.text),
    conversation: optional(text, row.conversation),
    ends: optional(text, row.ends),
    ...readEdits(row),
    state,
    attempts: integer(row.attempts),
    createdAt: integer(row.created_at),
    dueAt: integer(row.not_before ?? row.due_at) - clockOffsetMs,
    startedAt: optional(integer, row.started_at),
    partsSent: integer(row.parts_sent),
    route: row.route === null ? undefined : JSON.parse(text(row.route)),
    sentAt: state === "sent" ? integer(row.finished_at) : undefined,
    error: optional(text, row.error),
    warnings: optional((column) => JSON.parse(text(column)), row.warnings) ?? [],
  };
}

/** The interruptions of a run or delivery that was just claimed. */
export function readInterruptions(row: Row, clockOffsetMs = 0): { interruptions?: Interruptions } {
  const [times, since] = [integer(row.interruptions), optional(integer, row.interrupted_at)];
  return since === undefined ? {} : { interruptions: { times, since: since - clockOffsetMs } };
}

/** The order of arrival of runs or deliveries that are due. */
export function byArrival(one: Row, other: Row): number {
  return integer(one.due_at) - integer(other.due_at) || integer(one.seq) - integer(other.seq);
}

/** The `edits` column: whether a delivery replaces an earlier message, tells of a failed run, or asks a person. */
export const EDITS = { none: 0, reply: 1, isNotice: 2, notice: 3, isQuestion: 4 };

export function toEditsColumn({
  update,
  isNotice,
  isQuestion,
}: Pick<Delivery, "update" | "isNotice" | "isQuestion">): number {
  if (isQuestion) return EDITS.isQuestion;
  if (isNotice) return EDITS.isNotice;
  if (update === "notice") return EDITS.notice;
  return update ? EDITS.reply : EDITS.none;
}

function readEdits({ edits }: Row): Pick<Delivery, "update" | "isNotice" | "isQuestion"> {
  if (edits === EDITS.isQuestion) return { isQuestion: true };
  if (edits === EDITS.isNotice) return { isNotice: true };
  return { update: edits === EDITS.notice ? "notice" : edits === EDITS.reply ? true : undefined };
}

/** Whether a delivery may replace an earlier message. */
export function mayReplace({ edits }: Row): boolean {
  return edits === EDITS.reply || edits === EDITS.notice;
}

/** NULL: there are none. */
export function toWarningsColumn(warnings: string[] = []): string | undefined {
  return warnings.length > 0 ? JSON.stringify(warnings) : undefined;
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
    day: new Date(integer(row.day)).toISOString().slice(0, 10),
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
    group: text(row.error_group),
    attempts: integer(row.attempts),
    at: integer(row.finished_at),
  };
}

export function toFailedAttempt(row: Row): FailedAttempt {
  return {
    n: integer(row.n),
    startedAt: integer(row.started_at),
    endedAt: optional(integer, row.ended_at),
    error: text(row.error),
    ...(row.warnings && { warnings: JSON.parse(text(row.warnings)) }),
  };
}

/** Whether a step has its result. */
export function isFinished(step: Pick<Step, "state"> | undefined): boolean {
  return step?.state === "done" || step?.state === "failed";
}

/** The `detail` column of an approval. */
export function fromApproval({ question: _question, expiresAt: _expiresAt, ...detail }: NewApproval): string {
  return JSON.stringify(detail);
}

/** The `decision` column: how an approval has ended. */
export type ApprovalEnd = Pick<Approval, "decision" | "by" | "decidedAt" | "reason" | "result">;

export function toApproval(row: Row, clockOffsetMs = 0): Approval {
  const detail: Omit<NewApproval, "question" | "expiresAt"> = JSON.parse(text(row.detail));
  const end: ApprovalEnd = row.decision === null ? {} : JSON.parse(text(row.decision));
  const state = oneOf(APPROVAL_STATES, row.state);
  const expiresAt = optional(integer, row.expires_at);
  return {
    ...detail,
    ...(expiresAt !== undefined && { expiresAt: expiresAt - clockOffsetMs }),
    state,
    questionId: optional(text, row.question_id),
    ...end,
  };
}

/** The end of an open approval by a decision. A decision that comes too late ends the approval without one. */
export function toDecidedEnd(
  { expiresAt = Infinity }: Pick<Approval, "expiresAt">,
  { at: decidedAt, ...given }: NewDecision,
): { state: "approved" | "denied" | "expired"; end: ApprovalEnd } {
  if (decidedAt >= expiresAt) return { state: "expired", end: { decidedAt } };
  const isDenied = given.decision === "deny" || given.decision === "give-up";
  return { state: isDenied ? "denied" : "approved", end: { ...given, decidedAt } };
}

/** The outage of its model's provider, as long as it matters to the run. */
function readOutage(row: Row, clockOffsetMs: number): Pick<Run, "unavailableSince" | "waitingFor"> {
  if (row.finished_at !== null) return {};
  const since = optional(integer, row.unavailable_since);
  return {
    unavailableSince: since === undefined ? undefined : since - clockOffsetMs,
    waitingFor: row.state === "ready" ? optional(text, row.waiting_for) : undefined,
  };
}

/** The event's only run in short, and one of its deliveries: a failed, else an unfinished, else the newest. */
export function toOutcome(run: Run | undefined, deliveries: Delivery[] = []): Pick<EventSummary, "run" | "delivery"> {
  const delivery =
    deliveries.findLast(({ state }) => state === "failed") ??
    deliveries.findLast(({ state }) => ["pending", "queued", "sending"].includes(state)) ??
    deliveries.at(-1);
  return { run: run && summarizeRun(run), delivery: delivery && summarizeDelivery(delivery, deliveries) };
}

function summarizeRun(run: Run): EventSummary["run"] {
  const { id, state, attempts, startedAt, finishedAt, error, holdReason, waitingFor, waitsFor } = run;
  return {
    id,
    state,
    attempts,
    startedAt,
    finishedAt,
    error,
    holdReason,
    waitingFor,
    waitsFor,
  };
}

function summarizeDelivery(delivery: Delivery, all: Delivery[]): EventSummary["delivery"] {
  const { id, state, channel, to, route, attempts, sentAt, error } = delivery;
  const others = all.filter((other) => other !== delivery && other.state === state).length;
  return { id, state, channel, to, route, attempts, sentAt, error, others };
}

/** A call that was sent when its run was canceled: nobody knows whether it was executed. */
export function toUnknownStep({ detail }: Row, finishedAt: number): Step {
  const step: Step = JSON.parse(text(detail));
  return { ...step, state: "unknown", finishedAt };
}

export function toChange(row: Row): KeptChange {
  return JSON.parse(text(row.change));
}
