import { Readable } from "node:stream";
import { HookError } from "../errors.ts";
import { createAuthRateLimit } from "../ingress/auth-rate-limit.ts";
import type { Exchange } from "../ingress/exchange.ts";
import { createRouter, json, type RouteRequest, type Routes } from "../ingress/router.ts";
import type { EventRecord, Journal } from "../journal/journal.ts";
import { bearerOf, sameSecret } from "../shared/secret.ts";
import { DELIVERY_STATES, EVENT_STATUSES, type HttpResponse, MAIN_SESSION, RUN_STATES } from "../types.ts";
import { exportEvents } from "./export.ts";
import { requireFound, requireOnly, toCursor, toLimit, toMoment, toOneOf, toPage, toText } from "./query.ts";
import type { Trial } from "./trial.ts";
import {
  type OperatorAnswers,
  type StatusView,
  toDeadLetterView,
  toDeliveryView,
  toEventTimeline,
  toEventView,
  toRunView,
  toSessionTimeline,
  toSessionView,
} from "./views.ts";

export interface OperatorOptions {
  /** `gateway.auth.token`; without one, the API is off. */
  token(): string | undefined;
  journal: Journal;
  status(): Promise<StatusView>;
  /** Runs one payload through mapping and transform, and dispatches nothing. */
  tryHook(trial: unknown): Promise<Trial>;
  /** Runs the event's request again as a new one, and gives the answer that its sender would get. */
  replay(event: EventRecord): Promise<HttpResponse>;
  /** Rejects with the reason when the service cannot accept hooks. */
  requireReady(): Promise<void>;
}

const API_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };

/** Health checks and the operator API: what was received, what became of it, and whether the service works. */
export function createOperatorRoutes(options: OperatorOptions): Routes {
  const authenticate = createAuthenticate(options.token);
  const api = createRouter({ ...rawRoutes(options), ...jsonRoutes(options) });

  return {
    "GET /healthz": () => json({ ok: true }),
    "GET /readyz": () =>
      options.requireReady().then(
        () => json({ ok: true }),
        () => json({ ok: false }, 503),
      ),
    "* /api/:rest*": ({ exchange }) => {
      Object.assign(exchange.answerHeaders, API_HEADERS);
      // Before the route: without the token nobody learns which exist.
      authenticate(exchange);
      return requireFound(api.serve(exchange), "path");
    },
  };
}

function createAuthenticate(token: OperatorOptions["token"]): (exchange: Exchange) => void {
  // Not shared with the hooks: their token must not reset the count of failures here.
  const rateLimit = createAuthRateLimit();

  return function authenticate({ headers, client }) {
    const expected = token();
    if (expected === undefined) throw new HookError("not_found");
    const bearer = bearerOf(headers.authorization);
    if (bearer && sameSecret(bearer, expected)) return rateLimit.succeed(client);
    rateLimit.fail(client);
    throw new HookError("unauthorized", { message: "The gateway token is missing or wrong." });
  };
}

/** Routes whose answers are not simply JSON with status 200. */
function rawRoutes({ journal, tryHook, replay }: OperatorOptions): Routes {
  return {
    "GET /api/events/export": ({ query }) => {
      requireOnly(query, "hook", "status", "since", "until");
      const lines = exportEvents(journal, {
        hook: toText(query, "hook"),
        status: toOneOf(query, "status", EVENT_STATUSES),
        since: toMoment(query, "since"),
        until: toMoment(query, "until"),
      });
      return { status: 200, headers: { "Content-Type": "application/x-ndjson" }, body: Readable.from(lines) };
    },
    "POST /api/events/:id/replay": async ({ params: { id = "" } }) =>
      replay(requireFound(await journal.getEvent(id), "event")),
    "POST /api/try": async ({ readJson }) => {
      const trial = await tryHook(await readJson());
      return json(trial, trial.ok ? 200 : trial.status);
    },
  };
}

type JsonHandlers = Omit<
  { [Route in keyof OperatorAnswers]: (request: RouteRequest) => Promise<OperatorAnswers[Route]> },
  "POST /api/try"
>;

function jsonRoutes({ journal, status }: OperatorOptions): Routes {
  const handlers: JsonHandlers = {
    "GET /api/status": () => status(),

    "GET /api/events": async ({ query }) => {
      requireOnly(query, "limit", "before", "hook", "status");
      const filter = { hook: toText(query, "hook"), status: toOneOf(query, "status", EVENT_STATUSES) };
      const events = await journal.listEvents({ ...toPage(query), ...filter });
      return { events: events.map(toEventView) };
    },
    "GET /api/events/:id": async ({ params: { id = "" } }) =>
      toEventTimeline(requireFound(await journal.getEvent(id), "event")),

    "GET /api/sessions": async ({ query }) => {
      requireOnly(query, "limit");
      const sessions = await journal.listSessions({ limit: toLimit(query) });
      return { sessions: sessions.map(toSessionView) };
    },
    "GET /api/sessions/:key*": async ({ params: { key = "" }, query }) => {
      requireOnly(query, "limit", "after");
      const found = await journal.getSession(key, { limit: toLimit(query, 1000), after: toCursor(query) });
      if (!found && key === MAIN_SESSION) return { key, entries: [] };
      const { session, entries } = requireFound(found, "session");
      return toSessionTimeline(session, entries);
    },

    "GET /api/runs": async ({ query }) => {
      requireOnly(query, "limit", "before", "state");
      const runs = await journal.listRuns({ ...toPage(query), state: toOneOf(query, "state", RUN_STATES) });
      return { runs: runs.map(toRunView) };
    },
    "GET /api/deliveries": async ({ query }) => {
      requireOnly(query, "limit", "before", "state");
      const state = toOneOf(query, "state", DELIVERY_STATES);
      const deliveries = await journal.listDeliveries({ ...toPage(query), state });
      return { deliveries: deliveries.map(toDeliveryView) };
    },

    "GET /api/dead-letters": async ({ query }) => {
      requireOnly(query, "limit", "before");
      const deadLetters = await journal.listDeadLetters(toPage(query));
      return { deadLetters: deadLetters.map(toDeadLetterView) };
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
