import { setImmediate as nextTurn } from "node:timers/promises";
import { HookError } from "../errors.ts";
import type { FindParser } from "../ingress/parse-body.ts";
import type { EventRecord, EventSummary, Journal, Page } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import { REDACTED } from "../shared/secret.ts";
import type { EventStatus, HookRequest } from "../types.ts";
import { toOutcome } from "./outcome.ts";

type StoredEvents = Pick<Journal, "listEvents" | "getEvent">;

export interface EventFilter extends Page {
  prefix?: string;
  hook?: string;
  status?: EventStatus;
  mapping?: string;
  session?: string;
  /** Text that the row or the body contains, in any case. */
  q?: string;
}

export interface FoundEvents {
  events: EventSummary[];
  /** The search ended before the last event: it continues with this as `before`. */
  more?: string;
}

const PAGE_SIZE = 100;
/** How many events one search reads, and how many bodies: other requests wait meanwhile. */
const MAX_READ = 5000;
const MAX_BODIES = 500;

/** Events, newest first. Those of a mapping, of a session or with a text are searched for, which is bounded. */
export async function findEvents(
  journal: StoredEvents,
  { mapping, session, q, ...page }: EventFilter,
): Promise<FoundEvents> {
  if (mapping === undefined && session === undefined && q === undefined) {
    return { events: await journal.listEvents(page) };
  }
  const isOurs = (event: EventSummary): boolean =>
    (mapping === undefined || event.mapping === mapping) &&
    (session === undefined || event.actions.some(({ sessionKey }) => sessionKey === session));
  const text = q?.toLowerCase() ?? "";
  const found: EventSummary[] = [];
  let { before } = page;
  let bodies = 0;
  for (let read = 0; read < MAX_READ; read += PAGE_SIZE) {
    const events = await journal.listEvents({ ...page, before, limit: PAGE_SIZE });
    for (const event of events) {
      const isBodyRead = isOurs(event) && !rowOf(event).includes(text);
      if (isBodyRead && bodies++ === MAX_BODIES) return { events: found, more: before };
      if (isOurs(event) && (!isBodyRead || (await bodyOf(journal, event.id)).includes(text))) found.push(event);
      before = event.id;
      if (found.length === page.limit) return { events: found, more: before };
    }
    if (events.length < PAGE_SIZE) return { events: found };
    await nextTurn();
  }
  return { events: found, more: before };
}

function rowOf(event: EventSummary): string {
  const { id, hook, mapping, event: name, actions } = event;
  const sessions = actions.map(({ sessionKey }) => sessionKey);
  return [id, hook, mapping, name, toOutcome(event).outcome, ...sessions].join("\n").toLowerCase();
}

async function bodyOf(journal: StoredEvents, id: string): Promise<string> {
  const event = await journal.getEvent(id);
  return event?.request.body.toString("utf8").toLowerCase() ?? "";
}

export interface StoredEventFilter {
  hook?: string;
  status?: EventStatus;
  /** Received at this time or later, in milliseconds since the epoch. */
  since?: number;
  /** Received before this time. */
  until?: number;
}

/** All matching events, newest first; read from the journal as they are needed. */
export async function* listSince(
  journal: StoredEvents,
  { hook, status, since = 0, until = Infinity }: StoredEventFilter,
): AsyncGenerator<EventRecord> {
  let before: string | undefined;
  do {
    const page = await journal.listEvents({ hook, status, before, limit: PAGE_SIZE });
    for (const { id, receivedAt } of page) {
      // Ids sort by time, so all that follow are older.
      if (receivedAt < since) return;
      const event = receivedAt < until ? await journal.getEvent(id) : undefined;
      if (event) yield event;
    }
    before = page.length === PAGE_SIZE ? page.at(-1)?.id : undefined;
  } while (before !== undefined);
}

/**
 * The request of a stored event, to be run again as a new one: without an idempotency key, and without the headers and
 * query parameters whose values were not stored. Rejects with a 409 `HookError` when the body was not stored.
 */
export async function toReplayRequest(
  { id, hook, credential, request }: EventRecord,
  findParser: FindParser,
): Promise<HookRequest> {
  const { method, path, query, headers, contentType, body, client } = request;
  if (body.length === 0) throw new HookError("no_stored_body");
  return {
    id: createId(),
    replayOf: id,
    hook,
    method,
    path,
    query: withoutRedacted(query),
    headers: withoutRedacted(headers),
    rawBody: body,
    ...(await findParser(contentType)(body)),
    contentType,
    receivedAt: Date.now(),
    // Older versions did not store the credential, and had only `hooks.token`.
    credential: credential ?? "token:default",
    client,
  };
}

function withoutRedacted(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== REDACTED));
}
