import type { FastifyInstance } from "fastify";
import { HookError } from "../errors.ts";
import { DELIVERY_STATES, MAIN_SESSION, RUN_STATES } from "../types.ts";
import { type AuthenticateOptions, createAuthenticate } from "./auth.ts";
import { type EventOptions, registerDeadLetters, registerEvents } from "./events.ts";
import { type Query, requireFound, requireOnly, toLimit, toOneOf, toPage, toText } from "./query.ts";
import type { Trial } from "./trial.ts";
import {
  type OperatorAnswers,
  type StatusView,
  toDeliveryView,
  toRunView,
  toSessionTimeline,
  toSessionView,
} from "./views.ts";

export interface OperatorOptions extends AuthenticateOptions, EventOptions {
  /** Version, config, sandbox and queue, as JSON. */
  status(): Promise<StatusView>;
  /** Runs one payload through mapping and transform, and dispatches nothing. */
  tryHook(trial: unknown): Promise<Trial>;
  /** Rejects with the reason where the service could not accept a hook. */
  requireReady(): Promise<void>;
}

/** The operator's side: what was received, what became of it, and whether the service is well. */
export function registerOperator(app: FastifyInstance, options: OperatorOptions): void {
  const { journal } = options;

  app.get("/healthz", async () => ({ ok: true }));
  app.get("/readyz", async (_request, reply) => {
    const ready = await options.requireReady().then(
      () => true,
      () => false,
    );
    return reply.code(ready ? 200 : 503).send({ ok: ready });
  });

  app.register(async (api) => {
    api.addHook("onRequest", createAuthenticate(options));
    acceptNoBody(api);
    api.get("/api/status", () => options.status());
    api.post("/api/try", async ({ body }, reply) => {
      const trial = await options.tryHook(body);
      return reply.code(trial.ok ? 200 : trial.status).send(trial);
    });

    // Without the token nobody learns what there is.
    for (const url of ["/api", "/api/*"]) api.all(url, async () => requireFound(undefined, "path"));

    registerEvents(api, options);
    registerDeadLetters(api, options);

    api.get<{ Querystring: Query; Reply: OperatorAnswers["GET /api/sessions"] }>("/api/sessions", async ({ query }) => {
      requireOnly(query, "limit");
      const sessions = await journal.listSessions({ limit: toLimit(query) });
      return { sessions: sessions.map(toSessionView) };
    });
    api.get<{ Params: { "*": string }; Querystring: Query }>("/api/sessions/*", async ({ params, query }) => {
      requireOnly(query, "limit", "after");
      const page = { limit: toLimit(query, 1000), after: toCursor(query) };
      const read = await journal.getSession(params["*"], page);
      if (!read && params["*"] === MAIN_SESSION) return { key: MAIN_SESSION, entries: [] };
      const { session, entries } = requireFound(read, "session");
      return toSessionTimeline(session, entries);
    });

    api.get<{ Querystring: Query }>("/api/runs", async ({ query }) => {
      requireOnly(query, "limit", "before", "state");
      const runs = await journal.listRuns({ ...toPage(query), state: toOneOf(query, "state", RUN_STATES) });
      return { runs: runs.map(toRunView) };
    });
    api.get<{ Querystring: Query }>("/api/deliveries", async ({ query }) => {
      requireOnly(query, "limit", "before", "state");
      const state = toOneOf(query, "state", DELIVERY_STATES);
      const deliveries = await journal.listDeliveries({ ...toPage(query), state });
      return { deliveries: deliveries.map(toDeliveryView) };
    });
  });
}

function toCursor(query: Query): number | undefined {
  const text = toText(query, "after");
  if (text === undefined) return undefined;
  const after = Number(text);
  if (!Number.isSafeInteger(after) || after < 0) {
    throw new HookError("invalid_query", { message: "after must be the seq of an entry." });
  }
  return after;
}

/** Takes an empty body that is called JSON for none: clients that always send the header mean no harm by it. */
function acceptNoBody(api: FastifyInstance): void {
  // As everywhere in the server: a payload may have a field of any name.
  const parseJson = api.getDefaultJsonParser("ignore", "ignore");
  api.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null);
    else void parseJson(request, String(body), done);
  });
}
