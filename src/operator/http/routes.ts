import { Readable } from "node:stream";
import type { ResolvedConfig } from "../../config/types.ts";
import { type FindParser, isJson } from "../../ingress/parse-body.ts";
import { json } from "../../ingress/router.ts";
import type { EventRecord, Journal } from "../../journal/journal.ts";
import { readOwn } from "../../shared/json.ts";
import { startOfDay } from "../../shared/time.ts";
import { DELIVERY_STATES, EVENT_STATUSES, type HttpResponse, MAIN_SESSION, RUN_STATES } from "../../types.ts";
import { METRICS_TYPE } from "../../telemetry/metrics.ts";
import type { Activity } from "../../telemetry/activity.ts";
import type { Access } from "./access.ts";
import { type Diff, DIFF_SCHEMA } from "../diff.ts";
import { toMappingSourceView, toMappingViews } from "../mappings.ts";
import { toOpenApi } from "./openapi.ts";
import {
  answering,
  type ApiRoute,
  cursor,
  itemId,
  limit,
  oneOf,
  requireFound,
  responding,
  text,
  time,
} from "./route.ts";
import type { RejectionLog } from "../rejections.ts";
import { findEvents, listSince, type StoredEventFilter } from "../stored-events.ts";
import type { LiveStream } from "./stream.ts";
import { type Trial, TRIAL_SCHEMA } from "../trial.ts";
import {
  type OperatorAnswers,
  type StatusView,
  toEventTimeline,
  toEventView,
  toSessionTimeline,
  toRunView,
  toView,
} from "../views.ts";

/** The parts of the service that the API uses. */
export interface OperatorServices {
  journal: Journal;
  config(): ResolvedConfig;
  status(): Promise<StatusView>;
  activity: Pick<Activity, "minutes" | "uses">;
  /** The text of `GET /metrics`. */
  metrics(): Promise<string>;
  /** Ids of the mappings that are never reached. */
  shadowed(): ReadonlySet<string>;
  rejections: Pick<RejectionLog, "list">;
  stream: LiveStream;
  findParser: FindParser;
  /** Where it listens. */
  serviceUrl(): string;
  /** Runs one payload through mapping and transform, and dispatches nothing. */
  tryHook(trial: unknown): Promise<Trial>;
  /** Compares stored events under the loaded and other mappings. */
  diff(body: unknown): Promise<Diff>;
  /** Runs the event's request again as a new one, and gives the answer that its sender would get. */
  replay(event: EventRecord): Promise<HttpResponse>;
}

type RouteTable = { [Route in keyof OperatorAnswers]: ApiRoute & { answers?: OperatorAnswers[Route] } };

const HOOK = text("Only this hook.");
const STATUS = oneOf("Only events in this state.", EVENT_STATUSES);
const SESSION = text("Only events with an action in this session.");
const PAGE = { limit: limit(), before: itemId("Only what is older than the item with this id.") };
const MAX_COUNT = 10_000;
const MAX_REJECTIONS = 500;
const MAX_DIFF_BYTES = 4 * 1024 * 1024;
const MAX_SIGN_IN_BYTES = 8 * 1024;

/** The table of the API. A path is tried in this order. */
export function createRoutes({
  journal,
  config,
  shadowed,
  findParser,
  rejections,
  status,
  stream,
  access,
  tryHook,
  diff,
  replay,
  serviceUrl,
  activity,
  metrics,
}: OperatorServices & { access: Access }): RouteTable {
  const address = (): string => config().gateway.publicUrl ?? serviceUrl();
  const routes: RouteTable = {
    "POST /api/session": responding({
      about: "Gives the page a cookie for the gateway token. It needs no other credential.",
      body: { type: "object", required: ["token"], properties: { token: { type: "string" } } },
      async respond({ exchange, readJson }) {
        const { token }: { token?: unknown } = Object((await readJson(MAX_SIGN_IN_BYTES)) ?? {});
        const { cookie, expiresAt } = access.signIn(exchange, token);
        return withCookie(cookie, { ok: true, expiresAt: new Date(expiresAt).toISOString() });
      },
    }),
    "DELETE /api/session": responding({
      about: "Ends the sign-in of the page.",
      respond: ({ exchange }) => withCookie(access.signOut(exchange), { ok: true }),
    }),
    "GET /api/openapi.json": answering({
      about: "OpenAPI 3.1 of the hooks, the health checks and this API.",
      answer: (): object => toOpenApi({ routes, hooksPath: config().hooks.path, url: address() }),
    }),
    "GET /api/status": answering({
      about: "Version, configuration, last reload error, and the figures of sandbox, queue and mailboxes.",
      answer: () => status(),
    }),
    "GET /api/stats": answering({
      about: "Events by state, and what happened in each of the last minutes.",
      answer: async () => ({
        events: await journal.countEvents(MAX_COUNT),
        countedTo: MAX_COUNT,
        minutes: activity.minutes().map(toView),
      }),
    }),
    "GET /metrics": responding({
      about: "Metrics for Prometheus.",
      contentType: "text/plain",
      async respond() {
        return { status: 200, headers: { "Content-Type": METRICS_TYPE }, body: Buffer.from(await metrics()) };
      },
    }),
    "GET /api/stream": responding({
      about: "Server-sent events of everything that happens, as it is committed.",
      query: {
        hook: HOOK,
        status: STATUS,
        session: SESSION,
        after: text("The id of the last message that was seen, instead of the header Last-Event-ID."),
      },
      contentType: "text/event-stream",
      respond({ exchange, query: { after, ...filter } }) {
        const headers = { "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };
        if (exchange.method === "HEAD") return { status: 200, headers };
        const lastEventId = exchange.headers["last-event-id"];
        const seen = typeof lastEventId === "string" ? lastEventId : after;
        const body = stream.open({ after: seen, filter, isAllowed: () => access.allows(exchange) });
        return { status: 200, headers, body };
      },
    }),
    "GET /api/events": answering({
      about: "Events, newest first. With `more`, a search continues with it as `before`.",
      query: {
        ...PAGE,
        prefix: text("Only events whose ids begin with it."),
        hook: HOOK,
        status: STATUS,
        mapping: text("Only events of this mapping."),
        session: SESSION,
        q: text("Only events whose row or body contains this text, in any case."),
      },
      async answer({ query }) {
        const { events, more } = await findEvents(journal, query);
        return { events: events.map(toEventView), more };
      },
    }),
    "GET /api/events/export": responding({
      about: "Events as NDJSON, one timeline a line, newest first.",
      query: {
        hook: HOOK,
        status: STATUS,
        since: time("Received then or later."),
        until: time("Received before then."),
      },
      contentType: "application/x-ndjson",
      respond: ({ query }) => ({
        status: 200,
        headers: { "Content-Type": "application/x-ndjson" },
        body: Readable.from(exportEvents(journal, query, findParser)),
      }),
    }),
    "GET /api/events/:id": answering({
      about: "One event: request, mapping, log, error, runs, entries, deliveries.",
      answer: async ({ params: { id = "" } }) =>
        toEventTimeline(requireFound(await journal.getEvent(id), "event"), findParser),
    }),
    "POST /api/events/:id/replay": responding({
      about: "Runs the event again as a new one, through the current mappings, and answers as the hook would.",
      body: { type: "object", properties: { payload: { description: "Instead of the event's own." } } },
      example: {},
      async respond({ params: { id = "" }, exchange, readJson }) {
        const body = isJson(exchange.headers["content-type"] ?? "") ? await readJson() : undefined;
        return replay(withPayload(requireFound(await journal.getEvent(id), "event"), body));
      },
    }),
    "GET /api/mappings": answering({
      about: "The mappings in the order in which they are tried, with the address for the sender and what they did.",
      answer() {
        const hooksUrl = address() + config().hooks.path;
        const views = toMappingViews({
          sources: config().hooks.mappings,
          shadowed: shadowed(),
          uses: activity.uses(),
          rejections: rejections.list(MAX_REJECTIONS),
          hooksUrl,
        });
        return { hooksUrl, mappings: views };
      },
    }),
    "GET /api/mappings/:id/source": answering({
      about: "What a mapping is made of: its fields, the code of its transform, its samples. Without secrets.",
      answer({ params: { id = "" } }) {
        const found = config().hooks.mappings.find((mapping) => mapping.id === id);
        return toMappingSourceView(requireFound(found, "mapping"));
      },
    }),
    "GET /api/sessions": answering({
      about: "Sessions, the one with the newest entry first.",
      query: { limit: limit() },
      answer: async ({ query }) => ({ sessions: (await journal.listSessions(query)).map(toView) }),
    }),
    "GET /api/sessions/:key*": answering({
      about: "One session with its entries, oldest first. The main session is `main`.",
      query: { limit: limit(1000), after: cursor("Only entries after the one with this seq.") },
      async answer({ params: { key = "" }, query }) {
        const found = await journal.getSession(key, query);
        if (!found && key === MAIN_SESSION) return { key, entries: [] };
        const { session, entries } = requireFound(found, "session");
        return toSessionTimeline(session, entries);
      },
    }),
    "GET /api/runs": answering({
      about: "Agent turns, newest first.",
      query: { ...PAGE, state: oneOf("Only runs in this state.", RUN_STATES) },
      answer: async ({ query }) => ({ runs: (await journal.listRuns(query)).map(toRunView) }),
    }),
    "POST /api/runs/release": answering({
      about: "Lets held runs start.",
      query: { reason: text("Only those that are held for this reason.") },
      answer: async ({ query: { reason } }) => ({
        ok: true as const,
        released: await journal.releaseHeld({ reason, forGood: true }),
      }),
    }),
    "GET /api/spend": answering({
      about: "What agents used, by hook, mapping and model.",
      query: { since: time("From then on; default: the start of today, UTC.") },
      answer: async ({ query: { since = startOfDay() } }) => ({
        since: new Date(since).toISOString(),
        spend: await journal.spend({ since }),
      }),
    }),
    "GET /api/deliveries": answering({
      about: "Deliveries, newest first.",
      query: { ...PAGE, state: oneOf("Only deliveries in this state.", DELIVERY_STATES) },
      answer: async ({ query }) => ({ deliveries: (await journal.listDeliveries(query)).map(toView) }),
    }),
    "GET /api/rejections": answering({
      about: "Refused requests, newest first: the last 500 since the start.",
      query: { limit: limit(500) },
      answer: ({ query }) => ({ rejections: rejections.list(query.limit).map(toView) }),
    }),
    "GET /api/dead-letters": answering({
      about: "Runs and deliveries that failed permanently, newest first.",
      query: PAGE,
      answer: async ({ query }) => ({ deadLetters: (await journal.listDeadLetters(query)).map(toView) }),
    }),
    "POST /api/dead-letters/:id/retry": answering({
      about: "Gives a dead letter all its attempts again.",
      async answer({ params: { id = "" } }) {
        requireFound((await journal.retryDeadLetter(id, Date.now())) || undefined, "dead letter");
        return { ok: true as const, id };
      },
    }),
    "DELETE /api/dead-letters/:id": answering({
      about: "Marks a dead letter as dropped.",
      async answer({ params: { id = "" } }) {
        requireFound((await journal.dropDeadLetter(id)) || undefined, "dead letter");
        return { ok: true as const, id };
      },
    }),
    "POST /api/try": responding({
      about: "The actions that a payload leads to. Nothing is recorded or executed.",
      body: TRIAL_SCHEMA,
      example: { hook: "wake", payload: { text: "The build is broken." } },
      async respond({ readJson, exchange }) {
        const trial = await tryHook(await readJson());
        return trial.ok ? json(trial) : json({ ...trial, requestId: exchange.id }, trial.status);
      },
    }),
    "POST /api/diff": answering({
      about: "How stored events would fare under other mappings. Nothing is recorded or executed.",
      body: DIFF_SCHEMA,
      example: { since: "1h", config: { hooks: { mappings: [], presets: [] } } },
      answer: async ({ readJson }) => diff(await readJson(MAX_DIFF_BYTES)),
    }),
  };
  return routes;
}

/** The event with another payload, if the body of the replay has one. */
function withPayload(event: EventRecord, body: unknown): EventRecord {
  const payload = readOwn(body, "payload");
  if (payload === undefined) return event;
  const edited = { contentType: "application/json", body: Buffer.from(JSON.stringify(payload)) };
  return { ...event, request: { ...event.request, ...edited } };
}

function withCookie(cookie: string, body: object): HttpResponse {
  return { status: 200, headers: { "Set-Cookie": cookie }, body };
}

/** The timelines of all matching events, newest first, one line of JSON each. */
async function* exportEvents(
  journal: Journal,
  filter: StoredEventFilter,
  findParser: FindParser,
): AsyncGenerator<string> {
  for await (const event of listSince(journal, filter)) {
    yield `${JSON.stringify(await toEventTimeline(event, findParser))}\n`;
  }
}
