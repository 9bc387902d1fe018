import { Readable } from "node:stream";
import type { MappingSource } from "../config/types.ts";
import { HookError } from "../errors.ts";
import type { Exchange } from "../ingress/exchange.ts";
import { type FindParser, isJson } from "../ingress/parse-body.ts";
import { createRouter, json, type RouteRequest, type Routes } from "../ingress/router.ts";
import type { EventRecord, Journal } from "../journal/journal.ts";
import { startOfDay } from "../shared/duration.ts";
import {
  DELIVERY_STATES,
  EVENT_STATUSES,
  type EventStatus,
  type HttpResponse,
  MAIN_SESSION,
  RUN_STATES,
} from "../types.ts";
import { type Access, type AccessOptions, createAccess } from "./access.ts";
import { createPageFiles } from "./page-files.ts";
import { readOwn } from "../shared/json.ts";
import { toMappingSourceView } from "./mapping-source.ts";
import type { RejectionLog } from "./rejections.ts";
import { cursor, limit, oneOf, parseQuery, text, time } from "./query.ts";
import type { LiveStream } from "./stream.ts";
import type { Trial } from "./trial.ts";
import {
  type OperatorAnswers,
  type StatusView,
  toEventTimeline,
  toEventView,
  toSessionTimeline,
  toView,
} from "./views.ts";

export interface OperatorOptions extends AccessOptions {
  journal: Journal;
  /** Of the configuration and its presets, in the order in which they are tried. */
  mappings(): MappingSource[];
  status(): Promise<StatusView>;
  rejections: Pick<RejectionLog, "list">;
  stream: LiveStream;
  findParser: FindParser;
  /** Runs one payload through mapping and transform, and dispatches nothing. */
  tryHook(trial: unknown): Promise<Trial>;
  /** Runs the event's request again as a new one, and gives the answer that its sender would get. */
  replay(event: EventRecord): Promise<HttpResponse>;
  /** Rejects with the reason when the service cannot accept hooks. */
  requireReady(): Promise<void>;
}

const API_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };

/** Health checks, the page and the operator API: what was received, what became of it, and whether the service works. */
export function createOperatorRoutes(options: OperatorOptions): Routes {
  const access = createAccess(options);
  const page = createPageFiles();
  const api = createRouter({ ...rawRoutes(options, access), ...jsonRoutes(options) });

  return {
    "GET /healthz": () => json({ ok: true }),
    "GET /readyz": () =>
      options.requireReady().then(
        () => json({ ok: true }),
        () => json({ ok: false }, 503),
      ),
    "GET /": ({ exchange }) => page.page(access.requirePage(exchange)),
    "GET /page/:file": ({ exchange, params: { file = "" } }) => {
      access.requirePage(exchange);
      return page.file(exchange, file);
    },
    // The only request under /api without a credential: it gives one.
    "POST /api/session": async ({ exchange, readJson }) => {
      Object.assign(exchange.answerHeaders, API_HEADERS);
      const { token }: { token?: unknown } = Object((await readJson(MAX_SIGN_IN_BYTES)) ?? {});
      const { cookie, expiresAt } = access.signIn(exchange, token);
      const body = { ok: true, expiresAt: new Date(expiresAt).toISOString() };
      return { status: 200, headers: { "Set-Cookie": cookie }, body };
    },
    "* /api/:rest*": ({ exchange }) => {
      Object.assign(exchange.answerHeaders, API_HEADERS);
      // Before the route: without the token nobody learns which exist.
      access.require(exchange);
      if (exchange.method === "DELETE" && exchange.path === "/api/session") {
        return { status: 200, headers: { "Set-Cookie": access.signOut(exchange) }, body: { ok: true } };
      }
      return requireFound(api.serve(exchange), "path");
    },
  };
}

const MAX_SIGN_IN_BYTES = 8 * 1024;

/** Routes whose answers are not simply JSON with status 200. */
function rawRoutes({ journal, findParser, tryHook, replay, stream }: OperatorOptions, access: Access): Routes {
  return {
    "GET /api/stream": ({ exchange, query }) => {
      const { after, ...filter } = parseQuery(query, {
        hook: text,
        status: oneOf(EVENT_STATUSES),
        session: text,
        after: text,
      });
      const headers = { "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };
      if (exchange.method === "HEAD") return { status: 200, headers };
      const lastEventId = exchange.headers["last-event-id"];
      const body = stream.open({
        after: typeof lastEventId === "string" ? lastEventId : after,
        filter,
        isAllowed: () => isAllowed(access, exchange),
      });
      return { status: 200, headers, body };
    },
    "GET /api/events/export": ({ query }) => {
      const filter = parseQuery(query, { hook: text, status: oneOf(EVENT_STATUSES), since: time, until: time });
      const headers = { "Content-Type": "application/x-ndjson" };
      return { status: 200, headers, body: Readable.from(exportEvents(journal, filter, findParser)) };
    },
    "POST /api/events/:id/replay": async ({ params: { id = "" }, exchange, readJson }) => {
      const body = isJson(exchange.headers["content-type"] ?? "") ? await readJson() : undefined;
      return replay(withPayload(requireFound(await journal.getEvent(id), "event"), body));
    },
    "POST /api/try": async ({ readJson }) => {
      const trial = await tryHook(await readJson());
      return json(trial, trial.ok ? 200 : trial.status);
    },
  };
}

function isAllowed(access: Access, exchange: Exchange): boolean {
  try {
    access.require(exchange);
    return true;
  } catch {
    return false;
  }
}

type JsonHandlers = Omit<
  { [Route in keyof OperatorAnswers]: (request: RouteRequest) => Promise<OperatorAnswers[Route]> },
  "GET /api/stream" | "GET /api/events/export" | "POST /api/events/:id/replay" | "POST /api/try"
>;

const PAGE = { limit: limit(), before: text };

function jsonRoutes({ journal, mappings, findParser, rejections, status }: OperatorOptions): Routes {
  const handlers: JsonHandlers = {
    "GET /api/status": () => status(),

    "GET /api/events": async ({ query }) => {
      const filter = parseQuery(query, { ...PAGE, prefix: text, hook: text, status: oneOf(EVENT_STATUSES) });
      return { events: (await journal.listEvents(filter)).map(toEventView) };
    },
    "GET /api/events/:id": async ({ params: { id = "" } }) =>
      toEventTimeline(requireFound(await journal.getEvent(id), "event"), findParser),

    "GET /api/mappings/:id/source": async ({ params: { id = "" } }) => {
      const found = mappings().find((mapping) => mapping.id === id);
      return toMappingSourceView(requireFound(found, "mapping"));
    },

    "GET /api/sessions": async ({ query }) => {
      const sessions = await journal.listSessions(parseQuery(query, { limit: limit() }));
      return { sessions: sessions.map(toView) };
    },
    "GET /api/sessions/:key*": async ({ params: { key = "" }, query }) => {
      const found = await journal.getSession(key, parseQuery(query, { limit: limit(1000), after: cursor }));
      if (!found && key === MAIN_SESSION) return { key, entries: [] };
      const { session, entries } = requireFound(found, "session");
      return toSessionTimeline(session, entries);
    },

    "GET /api/runs": async ({ query }) => {
      const runs = await journal.listRuns(parseQuery(query, { ...PAGE, state: oneOf(RUN_STATES) }));
      return { runs: runs.map(toView) };
    },
    "POST /api/runs/release": async ({ query }) => {
      const { reason } = parseQuery(query, { reason: text });
      return { ok: true, released: await journal.releaseHeld({ reason, forGood: true }) };
    },
    "GET /api/spend": async ({ query }) => {
      const { since = startOfDay() } = parseQuery(query, { since: time });
      return { since: new Date(since).toISOString(), spend: await journal.spend({ since }) };
    },
    "GET /api/deliveries": async ({ query }) => {
      const filter = parseQuery(query, { ...PAGE, state: oneOf(DELIVERY_STATES) });
      return { deliveries: (await journal.listDeliveries(filter)).map(toView) };
    },

    "GET /api/rejections": async ({ query }) => ({
      rejections: rejections.list(parseQuery(query, { limit: limit(500) }).limit).map(toView),
    }),

    "GET /api/dead-letters": async ({ query }) => {
      const deadLetters = await journal.listDeadLetters(parseQuery(query, PAGE));
      return { deadLetters: deadLetters.map(toView) };
    },
    "POST /api/dead-letters/:id/retry": async ({ params: { id = "" } }) => {
      requireFound((await journal.retryDeadLetter(id, Date.now())) || undefined, "dead letter");
      return { ok: true, id };
    },
    "DELETE /api/dead-letters/:id": async ({ params: { id = "" } }) => {
      requireFound((await journal.dropDeadLetter(id)) || undefined, "dead letter");
      return { ok: true, id };
    },
  };
  return Object.fromEntries(
    Object.entries(handlers).map(([route, handle]) => [
      route,
      async (request: RouteRequest) => json(await handle(request)),
    ]),
  );
}

/** The event with another payload, if the body of the replay has one. */
function withPayload(event: EventRecord, body: unknown): EventRecord {
  const payload = readOwn(body, "payload");
  if (payload === undefined) return event;
  const edited = { contentType: "application/json", body: Buffer.from(JSON.stringify(payload)) };
  return { ...event, request: { ...event.request, ...edited } };
}

/** Returns the item, or throws a 404 when there is none. */
function requireFound<Item>(item: Item | undefined, what: string): Item {
  if (item === undefined) throw new HookError("not_found", { message: `There is no such ${what}.` });
  return item;
}

const EXPORT_PAGE_SIZE = 100;

interface ExportFilter {
  hook?: string;
  status?: EventStatus;
  /** Received at this time or later, in milliseconds since the epoch. */
  since?: number;
  /** Received before this time. */
  until?: number;
}

/** The timelines of all matching events, newest first, one line of JSON each; read from the journal as they are needed. */
async function* exportEvents(
  journal: Journal,
  { hook, status, since = 0, until = Infinity }: ExportFilter,
  findParser: FindParser,
): AsyncGenerator<string> {
  let before: string | undefined;
  do {
    const page = await journal.listEvents({ hook, status, before, limit: EXPORT_PAGE_SIZE });
    for (const { id, receivedAt } of page) {
      // Ids sort by time, so all that follow are older.
      if (receivedAt < since) return;
      const event = receivedAt < until ? await journal.getEvent(id) : undefined;
      if (event) yield `${JSON.stringify(await toEventTimeline(event, findParser))}\n`;
    }
    before = page.length === EXPORT_PAGE_SIZE ? page.at(-1)?.id : undefined;
  } while (before !== undefined);
}
