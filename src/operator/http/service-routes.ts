import { ConfigError, HookError } from "../../core/errors.ts";
import { json } from "../../core/ingress/router.ts";
import { METRICS_TYPE } from "../../core/telemetry/metrics.ts";
import type { HttpResponse } from "../../core/types.ts";
import { PERIOD_NAMES } from "../activity.ts";
import { toView } from "../iso-times.ts";
import { answering, HOOK, limit, oneOf, responding, SESSION, STATUS, text, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

const MAX_SIGN_IN_BYTES = 8 * 1024;

type ServicePath = `/api/${"session" | "status" | "reload" | "activity" | "stream" | "rejections"}` | "/metrics";

/** Sign-in, whether the service works, and what happens at the moment. */
export function createServiceRoutes({
  status,
  reload,
  activity,
  metrics,
  rejections,
  stream,
  access,
}: RouteServices): RoutesOf<ServicePath> {
  return {
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
    "GET /api/status": answering({
      about: "Version, configuration, last reload error, and the figures of sandbox, queue and mailboxes.",
      answer: () => status(),
    }),
    "POST /api/reload": responding({
      about:
        "Loads the configuration again, and answers with the one in use. 422 with `problems`: the one before stays in use.",
      respond: async ({ exchange }) => {
        try {
          return json({ ok: true, ...(await reload()) });
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
          const refusal = new HookError("reload_refused");
          const { problems, message } = error;
          const { code } = refusal;
          return json({ ok: false, error: message, code, problems, requestId: exchange.id }, refusal.status);
        }
      },
    }),
    "GET /api/activity": answering({
      about:
        "The requests of a period by state, and the work of each step in it. A step in which the service did not run is left out.",
      query: { period: oneOf("Default: 24h.", PERIOD_NAMES) },
      answer: ({ query: { period = "24h" } }) => activity.read(period),
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
        answers: oneOf("Also the answer to each request to a hook.", ["true"]),
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
    "GET /api/rejections": answering({
      about: "Refused requests, newest first: the last 500.",
      query: { limit: limit(500) },
      answer: async ({ query }) => ({ rejections: (await rejections.list(query.limit)).map(toView) }),
    }),
  };
}

function withCookie(cookie: string, body: object): HttpResponse {
  return { status: 200, headers: { "Set-Cookie": cookie }, body };
}
