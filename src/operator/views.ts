import { toPrompt } from "../core/boundary/boundary.ts";
import { exactPayload } from "../core/shared/exact-json.ts";
import { cutText } from "../core/shared/text/text.ts";
import { type QuestionWord, type RequestWord, toQuestionWord, toRequestWord } from "../core/shared/words.ts";
import type { FoundMissed } from "../core/ports/missed.ts";
import type { FindParser } from "../core/ingress/parse-body.ts";
import { matchHook } from "../core/ingress/router.ts";
import type { AnsweredRequest } from "../core/ingress/server.ts";
import type { McpRequestRecord } from "../core/ports/audit.ts";
import type {
  AbandonedEvent,
  Approval,
  DeadLetter,
  Entry,
  EventFailure,
  EventRecord,
  EventSummary,
  SessionSummary,
  SessionThread,
  Spend,
  StoredRequest,
  Timings,
} from "../core/journal/journal.ts";
import type { Question } from "../core/approvals/question/card.ts";
import type { LogLine, Receipt } from "../core/types.ts";
import type { BulkAnswer, BulkProgress } from "./bulk/bulk.ts";
import type { DeadLetterGroup } from "./dead-letter-groups.ts";
import type { Diff } from "./diff.ts";
import type { InboxItem } from "./inbox/item.ts";
import type { MappingSourceView, MappingView } from "./mapping-views.ts";
import { type Outcome, type OutcomeView, toOutcome } from "./stored-events.ts";
import type { RecordedRequest, Recording } from "./recording-store.ts";
import type { Rejection } from "./rejections.ts";
import type { ActivityView } from "./activity.ts";
import type { StatusView } from "./status.ts";
import type { SubscriptionRow } from "./subscription-rows.ts";
import { toView, type View } from "./iso-times.ts";
import type { ToolsView } from "./tool-views.ts";
import type { Trial } from "./trial.ts";
import { type DeliveryView, type RunTimeline, type RunView, toDeliveryView, toRunView } from "./work-views.ts";

/** The answers of the operator API: the journal's records, with times in ISO 8601. */
export interface OperatorAnswers {
  "POST /api/session": { ok: true; expiresAt: string };
  "DELETE /api/session": { ok: true };
  "GET /api/openapi.json": object;
  "GET /api/status": StatusView;
  "POST /api/reload": { ok: true } & Pick<StatusView, "config">;
  "GET /api/activity": ActivityView;
  "GET /metrics": string;
  "GET /api/events": { events: EventView[]; more?: string; searched?: number; searchedTo?: string };
  "GET /api/stream": string;
  "GET /api/events/export": string;
  "POST /api/events/:id/replay": unknown;
  "POST /api/events/catch-up": CatchUpView;
  /** `firstRequest`: the command that sends one. `saves`: whether the page may write them. */
  "GET /api/mappings": { hooksUrl: string; firstRequest: string; saves: boolean; mappings: MappingView[] };
  "PUT /api/mappings": { ok: true; written: string[] };
  "POST /api/transforms": { files: Record<string, string> };
  "GET /api/mappings/:id/source": MappingSourceView;
  "GET /api/events/:id": EventTimeline;
  "GET /api/events/:id/body": string;
  "GET /api/sessions": { sessions: SessionRow[] };
  "GET /api/sessions/:key*": SessionTimeline;
  "GET /api/runs": { runs: RunView[] };
  "GET /api/runs/:id": RunTimeline;
  "POST /api/runs/release": { ok: true; released: number };
  "POST /api/runs/:id/cancel": { ok: true; id: string };
  "POST /api/mappings/:id/run": { ok: true } & Pick<Receipt, "eventId" | "actions" | "warnings">;
  "POST /api/mappings/:id/pause": { ok: true; id: string };
  "POST /api/mappings/:id/resume": { ok: true; id: string };
  "GET /api/tools": ToolsView;
  "GET /api/approvals": { approvals: ApprovalView[] };
  "GET /api/approvals/:id": ApprovalDetail;
  "POST /api/approvals/:id": { ok: true; approval: ApprovalView };
  "GET /api/inbox": { items: InboxItem[] };
  "GET /api/inbox/:id*": InboxItem;
  "POST /api/models/:id/try": { ok: true; turns: number };
  "POST /api/tools/:id/try": { ok: true; id: string };
  "POST /api/mailboxes/:id/try": { ok: true; id: string };
  /** `currency`: of the costs, if the configuration names it. */
  "GET /api/spend": { since: string; currency?: string; spend: Spend[] };
  "GET /api/deliveries": { deliveries: DeliveryView[] };
  "POST /api/recordings": View<Recording>;
  "GET /api/recordings": { recordings: RecordingRow[] };
  "GET /api/recordings/:id": RecordingTimeline;
  "DELETE /api/recordings/:id": { ok: true; id: string };
  "GET /api/rejections": { rejections: View<Rejection>[] };
  "GET /api/dead-letters": { deadLetters: DeadLetterView[] };
  "GET /api/dead-letters/groups": { groups: DeadLetterGroupView[]; countedTo: number };
  "POST /api/bulk": BulkAnswer;
  "GET /api/bulk/:id": BulkProgress;
  "POST /api/dead-letters/:id/retry": { ok: true; id: string };
  "DELETE /api/dead-letters/:id": { ok: true; id: string };
  "GET /api/subscriptions": { subscriptions: View<SubscriptionRow>[] };
  "GET /api/subscriptions/:id": SubscriptionView;
  "DELETE /api/subscriptions/:id": { ok: true; id: string };
  "POST /api/subscriptions/:id/retry": { ok: true; id: string };
  "GET /api/mcp-requests": { requests: View<McpRequestRecord>[] };
  "POST /api/try": Trial;
  "POST /api/diff": Diff;
}

interface SubscriptionView extends View<SubscriptionRow> {
  /** Events that were given up, newest first. */
  abandoned: View<AbandonedEvent>[];
}

/** The fields of a row in a list. */
export type EventView = View<Omit<EventSummary, keyof Outcome | "status" | "unfinished" | "failureGroup">> & {
  status: RequestWord;
} & OutcomeView;
export type DeadLetterView = View<DeadLetter>;
type DeadLetterGroupView = View<DeadLetterGroup>;
type EntryView = View<Omit<Entry, "sessionKey" | "boundary" | "urgent">>;

/** Without the body's bytes: `payload` is what the hook made of the body, or the text of a body that it refused. */
type RequestView = Omit<StoredRequest, "body"> & { payload: unknown };

export interface EventTimeline extends EventView {
  /** The name of the credential that let the request in. */
  credential?: string;
  request: RequestView;
  warnings: string[];
  log: LogLine[];
  timings?: Timings;
  error?: EventFailure;
  runs: RunView[];
  /** The summaries that the event's turns added to the main session. */
  summary?: string;
  entries: EntryView[];
  deliveries: DeliveryView[];
}

/** With what its newest entry is about. */
interface SessionRow extends View<Omit<SessionSummary, "eventId">> {
  subject?: string;
}

/** A main session without entries has no times. `threads`: where its replies go on, if there are any. */
export type SessionTimeline = { key: string; entries: EntryView[]; threads?: SessionThread[] } & Partial<WithoutCount>;
type WithoutCount = Omit<View<SessionSummary>, "key" | "entries" | "eventId">;

export interface CatchUpView extends FoundMissed {
  hook: string;
}

interface RecordingRow extends View<Recording> {
  /** How many it has. */
  requests: number;
}

export interface RecordingTimeline extends View<Recording> {
  /** Oldest first. */
  requests: RecordedView[];
}

type RecordedView = Omit<View<RecordedRequest>, "request"> & { request: RequestView };

/** A question to a person, and how it has ended. */
export type ApprovalView = Omit<View<Approval>, "state" | "deliveries"> & {
  state: QuestionWord;
  deliveries?: HeldDelivery[];
};

/** With the question as every place shows it. */
export type ApprovalDetail = ApprovalView & { question: Question };

/** A reply that waits. */
interface HeldDelivery {
  channel: string;
  to?: string;
  text: string;
}

export function toApprovalView({ deliveries, ...approval }: Approval): ApprovalView {
  return {
    ...toView({ ...approval, state: toQuestionWord(approval.state) }),
    ...(deliveries && { deliveries: deliveries.map(({ channel, to, text }) => ({ channel, to, text })) }),
  };
}

export function toEventView(summary: EventSummary): EventView {
  const { id, hook, mapping, event, subject, receivedAt, replayOf, replayedBy, reason, actions } = summary;
  return {
    ...toView({ id, hook, mapping, event, subject, receivedAt, replayOf, replayedBy, reason, actions }),
    status: toRequestWord(summary),
    ...toOutcome(summary),
  };
}

export async function toEventTimeline(event: EventRecord, findParser: FindParser): Promise<EventTimeline> {
  return {
    ...toEventView(event),
    credential: event.credential,
    request: await toRequestView(event, findParser),
    warnings: event.warnings,
    log: event.log,
    timings: event.timings,
    error: event.failure,
    runs: event.runs.map(toRunView),
    summary: toSummary(event.entries),
    entries: event.entries.map(toEntryView),
    deliveries: event.deliveries.map(toDeliveryView),
  };
}

export async function toRecordingTimeline(
  recording: Recording,
  requests: RecordedRequest[],
  findParser: FindParser,
): Promise<RecordingTimeline> {
  const views = requests.map(async ({ request, ...one }) => ({
    ...toView(one),
    request: await toRequestView({ hook: recording.hook, request, receivedAt: one.at }, findParser),
  }));
  return { ...toView(recording), requests: await Promise.all(views) };
}

export function toSessionTimeline(
  session: SessionSummary,
  entries: Entry[],
  threads: SessionThread[],
): SessionTimeline {
  return { ...toView(session), entries: entries.map(toEntryView), ...(threads.length > 0 && { threads }) };
}

function toEntryView(entry: Entry): EntryView {
  const { seq, role, at, eventId, runId, pending } = entry;
  return toView({ seq, role, text: toPrompt(entry), at, eventId, runId, pending });
}

function toSummary(entries: Entry[]): string | undefined {
  const summaries = entries.filter(({ role, runId }) => role === "system" && runId !== undefined);
  return summaries.length > 0 ? summaries.map(toPrompt).join("\n") : undefined;
}

async function toRequestView(
  { hook, request: stored, receivedAt }: Pick<EventRecord, "hook" | "request" | "receivedAt">,
  findParser: FindParser,
): Promise<RequestView> {
  const { body, ...head } = stored;
  // Empty: the body was not stored. A parser could take it for an empty form.
  if (body.length === 0) return { ...head, payload: "" };
  try {
    const parsed = await findParser(head.contentType, hook)(body, receivedAt);
    return { ...head, payload: exactPayload({ ...parsed, rawBody: body }) };
  } catch {
    return { ...head, payload: body.toString("utf8") };
  }
}

/** The answer to a request's sender: a message of the live stream. */
export interface AnswerView extends AnsweredRequest {
  hook?: string;
}

const MAX_PATH = 200;

export function toAnswerView({ path, error, ...answer }: AnsweredRequest, hooksPath: string): AnswerView {
  return {
    ...answer,
    // The sender chooses the path, and the stream keeps many.
    hook: cutText(matchHook(path, hooksPath)?.hook ?? "", MAX_PATH) || undefined,
    path: cutText(path, MAX_PATH),
    error: error && { code: error.code, message: error.message },
  };
}
