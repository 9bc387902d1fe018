import { toSentence } from "../errors.ts";
import type {
  DeadLetter,
  Delivery,
  Entry,
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

/** The shapes of the operator API: times in ISO 8601, bodies as JSON where they are JSON. */

export function toEventView(event: EventSummary): object {
  const { id, hook, mapping, receivedAt, replayOf, status, actions } = event;
  return { id, hook, mapping, receivedAt: iso(receivedAt), replayOf, status, actions };
}

export function toEventTimeline(event: EventRecord): object {
  return {
    ...toEventView(event),
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

export function toRunView(run: Run): object {
  const { createdAt, dueAt, startedAt, finishedAt, ...rest } = run;
  return {
    ...rest,
    createdAt: iso(createdAt),
    dueAt: iso(dueAt),
    startedAt: iso(startedAt),
    finishedAt: iso(finishedAt),
  };
}

export function toDeliveryView(delivery: Delivery): object {
  const { createdAt, dueAt, sentAt, ...rest } = delivery;
  return { ...rest, createdAt: iso(createdAt), dueAt: iso(dueAt), sentAt: iso(sentAt) };
}

export function toDeadLetterView(letter: DeadLetter): object {
  return { ...letter, at: iso(letter.at) };
}

export function toSessionView(session: SessionSummary): object {
  return { ...session, createdAt: iso(session.createdAt), updatedAt: iso(session.updatedAt) };
}

export function toEntryView({ seq, role, text, at, eventId, runId, pending }: Entry): object {
  return { seq, role, text, at: iso(at), eventId, runId, pending };
}

/** What the event's turns left in the main session, a line each. */
function toSummary(entries: Entry[]): string | undefined {
  const summaries = entries.filter(({ role, runId }) => role === "system" && runId !== undefined);
  return summaries.length > 0 ? summaries.map(({ text }) => text).join("\n") : undefined;
}

function toRequestView(request: StoredRequest): object {
  const { method, path, query, headers, contentType, body, client } = request;
  return { method, path, query, headers, contentType, client, payload: parse(body.toString("utf8")) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function iso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

export interface StatusParts {
  version: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  program: Program;
  reloadFailure: ReloadFailure | undefined;
  sandbox: SandboxStatus;
  journal: JournalStats;
  running: object;
  /** undefined: no mailbox is configured. */
  mail: MailStatus | undefined;
}

/** What `GET /api/status` shows. */
export function toStatus(parts: StatusParts): object {
  const { program, reloadFailure } = parts;
  return {
    version: parts.version,
    startedAt: new Date(parts.startedAt).toISOString(),
    config: {
      generation: program.generation,
      at: new Date(program.builtAt).toISOString(),
      file: program.config.file,
      mappings: program.config.hooks.mappings.map(({ id }) => id),
      warnings: program.warnings.map(toSentence),
    },
    lastReloadError: reloadFailure ? toFailureView(reloadFailure) : null,
    sandbox: parts.sandbox,
    queue: { ...parts.journal, ...parts.running },
    mail: parts.mail ? toMailView(parts.mail) : null,
  };
}

/** The first problem in full, and all of them. */
function toFailureView({ at, problems }: ReloadFailure): object {
  return { at: new Date(at).toISOString(), ...problems[0], problems };
}

function toMailView({ folders, ...mail }: MailStatus): object {
  return { ...mail, folders: folders.map(toFolderView) };
}

function toFolderView({ since, lastMailAt, nextTryAt, ...folder }: FolderStatus): object {
  return {
    ...folder,
    since: new Date(since).toISOString(),
    lastMailAt: toMoment(lastMailAt),
    nextTryAt: toMoment(nextTryAt),
  };
}

function toMoment(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}
