import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { type ConfigProblem, toSentence } from "../errors.ts";
import type {
  DeadLetter,
  Delivery,
  Entry,
  EventFailure,
  EventRecord,
  EventSummary,
  JournalStats,
  Run,
  SessionSummary,
  StoredRequest,
} from "../journal/journal.ts";
import type { FolderStatus, MailStatus } from "../mail/watch/status.ts";
import type { Program } from "../program/build.ts";
import type { ReloadFailure } from "../program/reload.ts";
import type { SandboxStatus } from "../transforms/runner.ts";
import type { LogLine } from "../types.ts";
import type { Trial } from "./trial.ts";

/** What the operator API answers: the journal's records, with times in ISO 8601. */
export interface OperatorAnswers {
  "GET /api/status": StatusView;
  "GET /api/events": { events: EventView[] };
  "GET /api/events/:id": EventTimeline;
  "GET /api/sessions": { sessions: SessionView[] };
  "GET /api/sessions/:key*": SessionTimeline;
  "GET /api/runs": { runs: RunView[] };
  "GET /api/deliveries": { deliveries: DeliveryView[] };
  "GET /api/dead-letters": { deadLetters: DeadLetterView[] };
  "POST /api/dead-letters/:id/retry": { ok: true; id: string };
  "DELETE /api/dead-letters/:id": { ok: true; id: string };
  "POST /api/try": Trial;
}

/** A record whose times are ISO 8601 instead of milliseconds since the epoch. */
type WithIsoTimes<Item, Time extends keyof Item> = Omit<Item, Time> & {
  [Name in keyof Pick<Item, Time>]: Item[Name] extends number ? string : string | undefined;
};

export type EventView = WithIsoTimes<EventSummary, "receivedAt">;
export type RunView = WithIsoTimes<Run, "createdAt" | "dueAt" | "startedAt" | "finishedAt">;
export type DeliveryView = WithIsoTimes<Delivery, "createdAt" | "dueAt" | "sentAt">;
export type DeadLetterView = WithIsoTimes<DeadLetter, "at">;
export type SessionView = WithIsoTimes<SessionSummary, "createdAt" | "updatedAt">;
type EntryView = WithIsoTimes<Omit<Entry, "sessionKey" | "urgent">, "at">;

/** Without the body's bytes: `payload` is the body parsed as JSON, or its text. */
type RequestView = Omit<StoredRequest, "body"> & { payload: unknown };

export interface EventTimeline extends EventView {
  /** The name of the credential that let the request in. */
  credential?: string;
  request: RequestView;
  warnings: string[];
  log: LogLine[];
  error?: EventFailure;
  runs: RunView[];
  /** What the event's turns added to the main session, one line each. */
  summary?: string;
  entries: EntryView[];
  deliveries: DeliveryView[];
}

/** A main session without entries has no times. */
export type SessionTimeline = { key: string; entries: EntryView[] } & Partial<WithoutCount>;
type WithoutCount = Omit<SessionView, "key" | "entries">;

type MailView = Omit<MailStatus, "folders"> & { folders: FolderView[] };
type FolderView = WithIsoTimes<FolderStatus, "since" | "lastMailAt" | "nextTryAt">;

export interface StatusView {
  version: string;
  startedAt: string;
  config: { generation: number; at: string; file: string | undefined; mappings: string[]; warnings: string[] };
  /** The first problem, and the list of all. */
  lastReloadError: ({ at: string; problems: ConfigProblem[] } & Partial<ConfigProblem>) | null;
  sandbox: SandboxStatus;
  queue: JournalStats & ReturnType<Dispatcher["status"]>;
  /** null: no mailbox is configured. */
  mail: MailView | null;
}

export function toEventView({ id, hook, mapping, receivedAt, replayOf, status, actions }: EventSummary): EventView {
  return withIsoTimes({ id, hook, mapping, receivedAt, replayOf, status, actions }, "receivedAt");
}

export function toEventTimeline(event: EventRecord): EventTimeline {
  return {
    ...toEventView(event),
    credential: event.credential,
    request: toRequestView(event.request),
    warnings: event.warnings,
    log: event.log,
    error: event.failure,
    runs: event.runs.map(toRunView),
    summary: toSummary(event.entries),
    entries: event.entries.map(toEntryView),
    deliveries: event.deliveries.map(toDeliveryView),
  };
}

export function toRunView(run: Run): RunView {
  return withIsoTimes(run, "createdAt", "dueAt", "startedAt", "finishedAt");
}

export function toDeliveryView(delivery: Delivery): DeliveryView {
  return withIsoTimes(delivery, "createdAt", "dueAt", "sentAt");
}

export function toDeadLetterView(letter: DeadLetter): DeadLetterView {
  return withIsoTimes(letter, "at");
}

export function toSessionView(session: SessionSummary): SessionView {
  return withIsoTimes(session, "createdAt", "updatedAt");
}

export function toSessionTimeline(session: SessionSummary, entries: Entry[]): SessionTimeline {
  return { ...toSessionView(session), entries: entries.map(toEntryView) };
}

function toEntryView({ seq, role, text, at, eventId, runId, pending }: Entry): EntryView {
  return withIsoTimes({ seq, role, text, at, eventId, runId, pending }, "at");
}

function toSummary(entries: Entry[]): string | undefined {
  const summaries = entries.filter(({ role, runId }) => role === "system" && runId !== undefined);
  return summaries.length > 0 ? summaries.map(({ text }) => text).join("\n") : undefined;
}

function toRequestView({ body, ...request }: StoredRequest): RequestView {
  return { ...request, payload: parse(body.toString("utf8")) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export interface StatusParts {
  version: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  program: Program;
  reloadFailure: ReloadFailure | undefined;
  sandbox: SandboxStatus;
  journal: JournalStats;
  running: ReturnType<Dispatcher["status"]>;
  /** undefined: no mailbox is configured. */
  mail: MailStatus | undefined;
}

export function toStatusView({ program, reloadFailure, mail, ...parts }: StatusParts): StatusView {
  return {
    version: parts.version,
    startedAt: toIso(parts.startedAt),
    config: {
      generation: program.generation,
      at: toIso(program.builtAt),
      file: program.config.file,
      mappings: program.config.hooks.mappings.map(({ id }) => id),
      warnings: program.warnings.map(toSentence),
    },
    lastReloadError: reloadFailure
      ? { at: toIso(reloadFailure.at), ...reloadFailure.problems[0], problems: reloadFailure.problems }
      : null,
    sandbox: parts.sandbox,
    queue: { ...parts.journal, ...parts.running },
    mail: mail
      ? { ...mail, folders: mail.folders.map((folder) => withIsoTimes(folder, "since", "lastMailAt", "nextTryAt")) }
      : null,
  };
}

function withIsoTimes<Item extends object, Time extends keyof Item>(
  item: Item,
  ...times: Time[]
): WithIsoTimes<Item, Time> {
  const converted = times.map((name) => [name, toIso(item[name])]);
  return { ...item, ...Object.fromEntries(converted) };
}

function toIso(time: number): string;
function toIso(time: unknown): string | undefined;
function toIso(time: unknown): string | undefined {
  return typeof time === "number" ? new Date(time).toISOString() : undefined;
}
