import { createRouter, json, type RouteRequest, type Routes } from "../../ingress/router.ts";
import type { HttpResponse } from "../../types.ts";
import { type AccessOptions, createAccess } from "./access.ts";
import { createPageFiles } from "./page-files.ts";
import { createRoutes, type OperatorServices } from "./routes.ts";

export interface OperatorOptions extends AccessOptions, OperatorServices {
  /** Rejects with the reason when the service cannot accept hooks. */
  requireReady(): Promise<void>;
}

const API_HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };

/** Gives a credential, so it needs none. */
const SIGN_IN = "POST /api/session";

/** Health checks, the page and the operator API: what was received, what became of it, and whether the service works. */
export function createOperatorRoutes(options: OperatorOptions): Routes {
  const access = createAccess(options);
  const page = createPageFiles();
  const { [SIGN_IN]: signIn, "GET /metrics": metrics, ...table } = createRoutes({ ...options, access });
  const api = createRouter(Object.fromEntries(Object.entries(table).map(([route, { handle }]) => [route, handle])));

  return {
    "GET /healthz": () => json({ ok: true }),
    "GET /readyz": () =>
      options.requireReady().then(
        () => json({ ok: true }),
        () => json({ ok: false }, 503),
      ),
    "GET /metrics": (request) => {
      access.require(request.exchange);
      return metrics.handle(request);
    },
    "GET /": ({ exchange }) => page.page(access.requirePage(exchange)),
    "GET /page/:file": ({ exchange, params: { file = "" } }) => {
      access.requirePage(exchange);
      return page.file(exchange, file);
    },
    [SIGN_IN]: (request) => {
      Object.assign(request.exchange.answerHeaders, API_HEADERS);
      return signIn.handle(request);
    },
    "* /api/:rest*": ({ exchange }: RouteRequest): HttpResponse | Promise<HttpResponse> => {
      Object.assign(exchange.answerHeaders, API_HEADERS);
      // Before the route: without the token nobody learns which exist.
      access.require(exchange);
      const answer = api.serve(exchange);
      if (!answer) throw api.refuse(exchange);
      return answer;
    },
  };
}
