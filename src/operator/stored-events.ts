import { describeWait } from "../core/shared/run-wait.ts";
import { HTTP_ERRORS } from "../core/errors.ts";
import type { EventRecord, EventSearch, EventSummary, Journal, Page } from "../core/journal/journal.ts";
import { parsePath } from "../core/shared/json.ts";
import { isRequest, ofRequests, type RequestFilter, toRequestWord } from "../core/shared/words.ts";

type StoredEvents = Pick<Journal, "listEvents" | "getEvent">;

export interface EventFilter extends Page, Pick<EventSearch, "mapping" | "session" | SearchFacet> {
  prefix?: string;
  hook?: string;
  status?: RequestFilter;
  /** Text that the row, the body, a prompt, a reply or an error contains, in any case; and fields: `payload.action = opened`. */
  q?: string;
}

type SearchFacet = "event" | "credential" | "model" | "channel" | "group";

export interface FoundEvents {
  events: EventSummary[];
  /** The search ended before the last event: it continues with this as `before`. */
  more?: string;
  /** How many events it looked at, and when the last of them was received. */
  searched?: number;
  searchedTo?: number;
}

const PAGE_SIZE = 100;
/** When a search gives what it has found so far. */
const SEARCH_MS = 120;

/** Events, newest first. A search without an index takes a while at a time. */
export async function findEvents(
  journal: Pick<Journal, "listEvents" | "searchEvents">,
  filter: EventFilter,
): Promise<FoundEvents> {
  const { q, prefix, limit, before, status: word, ...facets } = filter;
  const search = { ...facets, ...(word && ofRequests(word)), ...(q === undefined ? {} : parseSearch(q)) };
  const { hook, status, from, to, ...searched } = search;
  if (Object.values(searched).every((value) => value === undefined))
    return { events: await journal.listEvents({ prefix, limit, before, hook, status, from, to }) };
  const endsAt = performance.now() + SEARCH_MS;
  const ids: string[] = [];
  const progress: Pick<FoundEvents, "searched" | "searchedTo"> & { searched: number } = { searched: 0 };
  let end = before;
  do {
    const chunk = await journal.searchEvents(search, end);
    ids.push(...chunk.ids.filter((id) => prefix === undefined || id.startsWith(prefix)));
    end = ids.length > limit ? ids[limit - 1] : chunk.end;
    progress.searched += chunk.searched;
    progress.searchedTo = chunk.at ?? progress.searchedTo;
  } while (end !== undefined && ids.length < limit && performance.now() < endsAt);
  const found = ids.slice(0, limit);
  const events = found.length === 0 ? [] : await journal.listEvents({ ids: found, limit });
  return { events, ...(end !== undefined && { more: end }), ...progress };
}

/** The subjects of the events of some rows, by their ids. */
export async function readSubjects(
  journal: Pick<Journal, "listEvents">,
  rows: readonly { eventId?: string }[],
): Promise<Map<string | undefined, string>> {
  const ids = [...new Set(rows.flatMap(({ eventId }) => eventId ?? []))];
  const events = ids.length === 0 ? [] : await journal.listEvents({ ids, limit: ids.length });
  return new Map(events.flatMap(({ id, subject }) => (subject === undefined ? [] : [[id, subject]])));
}

/** `payload.repository.full_name = "acme/shop"` */
const FIELD = /(?:^|\s)((?:payload|headers|query)\.[^\s=]+)\s*=\s*(?:"([^"]*)"|(\S+))/g;

/** Fields that a search names, and the text that is left. */
function parseSearch(q: string): Pick<EventSearch, "fields" | "text"> {
  const fields = Array.from(q.matchAll(FIELD), ([, name = "", quoted, plain = ""]) => {
    const path = [...(parsePath(name) ?? name.split("."))];
    return { path: path[0] === "headers" ? path.map((key) => key.toLowerCase()) : path, value: quoted ?? plain };
  });
  const text = q.replaceAll(FIELD, " ").trim();
  return { ...(fields.length > 0 && { fields }), ...(text !== "" && { text }) };
}

export interface StoredEventFilter {
  hook?: string;
  status?: RequestFilter;
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
  const wanted = status && ofRequests(status);
  const rows = readPages((page) => journal.listEvents({ hook, status: wanted?.status, ...page }), PAGE_SIZE);
  for await (const row of rows) {
    // Ids sort by time, so all that follow are older.
    if (row.receivedAt < since) return;
    const isWanted = status === undefined || isRequest(toRequestWord(row), status);
    const event = isWanted && row.receivedAt < until ? await journal.getEvent(row.id) : undefined;
    if (event) yield event;
  }
}

/** The rows of a list, newest first; a page is read when the one before has been used. */
export async function* readPages<Row extends { id: string }>(
  readPage: (page: { before: string | undefined; limit: number }) => Promise<Row[]>,
  size = 500,
): AsyncGenerator<Row> {
  let before: string | undefined;
  do {
    const rows = await readPage({ before, limit: size });
    yield* rows;
    before = rows.length === size ? rows.at(-1)?.id : undefined;
  } while (before !== undefined);
}

/** The part of a summary that becomes one line. */
export type Outcome = Pick<EventSummary, "failure" | "open" | "dead" | "canceled" | "run" | "delivery">;

export interface OutcomeView {
  /** The result of the event in one line: `turn 3.2 s → slack C01 ✓`. It may quote a driver or a sender. */
  outcome: string;
  /** From the request to the end of what it led to, in milliseconds. Absent until then. */
  durationMs?: number;
}

const MAX_CHARACTERS = 120;

export function toOutcome(event: EventSummary): OutcomeView {
  const outcome = describe(event).replaceAll(/\s+/g, " ");
  const isCut = outcome.length > MAX_CHARACTERS;
  const durationMs = toDuration(event);
  return {
    outcome: isCut ? `${outcome.slice(0, MAX_CHARACTERS - 1)}…` : outcome,
    ...(durationMs !== undefined && { durationMs }),
  };
}

function describe(event: EventSummary): string {
  const { failure, actions, reason } = event;
  if (failure) return `${statusOf(failure.code)}${firstLine(failure.detail) ?? failure.message}`;
  if (actions.length === 0) return reason === undefined ? "skipped" : `skipped: ${reason}`;
  const wakes = actions.filter(({ kind }) => kind === "wake");
  const parts = wakes.length > 0 ? [wakes.length === 1 ? `wake (${wakes[0]?.mode})` : `${wakes.length} wakes`] : [];
  // Two actions of one event can be in one turn.
  const turns = new Set(actions.flatMap(({ runId }) => runId ?? [])).size;
  if (turns > 0) parts.push(describeTurns(event, turns));
  return parts.length > 0 ? parts.join(" · ") : "published";
}

/** The first line of a transform's error, which says more than that it failed. */
function firstLine(detail = ""): string | undefined {
  return detail.split("\n", 1)[0]?.trim() || undefined;
}

function statusOf(code: string): string {
  const known: Record<string, { status: number }> = HTTP_ERRORS;
  return known[code] ? `${known[code].status}: ` : "";
}

function describeTurns({ run, delivery, actions, open, dead, canceled }: EventSummary, turns: number): string {
  if (run) return [describeRun(run), ...(delivery ? [describeDelivery(delivery)] : [])].join(" → ");
  if (actions.every(({ coalesced, kind }) => coalesced || kind === "wake")) return "joins a waiting turn";
  const counts = Object.entries({ "in progress": open, failed: dead, canceled }).filter(([, count]) => count > 0);
  const others = counts.map(([state, count]) => `${count} ${state}`).join(", ");
  return `${turns} turns${others === "" ? " ✓" : `: ${others}`}`;
}

type RunSummary = NonNullable<EventSummary["run"]>;
type DeliverySummary = NonNullable<EventSummary["delivery"]>;

function describeRun(run: RunSummary): string {
  const { state, attempts, error, holdReason, waitingFor, waitsFor, startedAt, finishedAt } = run;
  if (state === "done") return `turn ${formatMs((finishedAt ?? 0) - (startedAt ?? 0))}`;
  if (state === "dead") return `turn failed: ${error}`;
  if (state === "canceled") return error === "canceled" ? "turn canceled" : `turn canceled: ${error}`;
  if (state === "held") return `turn held: ${holdReason}`;
  if (state === "running") return attempts > 1 ? `turn running, attempt ${attempts}` : "turn running";
  if (waitingFor !== undefined) return `waiting for ${waitingFor}: ${error}`;
  if (waitsFor) return describeWait(waitsFor);
  return error === undefined ? "turn waiting" : `attempt ${attempts} failed, will try again: ${error}`;
}

function describeDelivery({ state, channel, to, route, attempts, error, others }: DeliverySummary): string {
  const name = [route?.channel ?? channel, route?.to ?? to ?? ""].join(" ").trim();
  const place = others > 0 ? `${name} and ${others} more` : name;
  if (state === "sent") return `${place} ✓`;
  if (state === "skipped") return `not sent: ${error}`;
  if (state === "failed") return `${place} ✗ ${error}`;
  if (state === "canceled") return `${place} canceled: ${error}`;
  return error === undefined ? `${place} …` : `${place}, attempt ${attempts} failed, will try again: ${error}`;
}

function toDuration({ receivedAt, open, run, delivery }: EventSummary): number | undefined {
  const end = delivery?.sentAt ?? run?.finishedAt;
  return open > 0 || end === undefined ? undefined : end - receivedAt;
}

function formatMs(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
