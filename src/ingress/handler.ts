import type { IncomingHttpHeaders } from "node:http";
import type { ResolvedConfig } from "../config/types.ts";
import { HookError } from "../errors.ts";
import { SECRET_HEADERS, TOKEN_PARAMETER } from "../shared/secret.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { HookRequest, HookResponse } from "../types.ts";
import { type Authenticate, createAuthenticate } from "./auth/token.ts";
import { bodyTooLarge, inflate, parseCodings, readBody } from "./body.ts";
import { type Exchange, sendContinue } from "./exchange.ts";
import { parseBody, requireBodyKind } from "./parse-body.ts";
import { reportError } from "./respond.ts";
import { matchRoute, type Route } from "./route.ts";
import { writeResponse } from "./write-response.ts";

/** What the ingress needs to know. */
export interface IngressConfig {
  gateway: Pick<ResolvedConfig["gateway"], "host" | "port" | "trustedProxies">;
  hooks: Pick<ResolvedConfig["hooks"], "enabled" | "token" | "path" | "maxBodyBytes" | "bodyTimeoutMs">;
}

export interface HookOptions {
  /** Asked once a request: what a reload changed in `hooks` counts from the next one on. */
  config(): IngressConfig;
  telemetry: Telemetry;
  /** Takes a request that was let in and read, and gives its answer. */
  receive(request: HookRequest): Promise<HookResponse>;
  /**
   * Told of a request with a right credential that was refused before `receive` could see it. Its `payload` is undefined,
   * and its `rawBody` is empty unless the body was read. The answer waits for it; it must not reject.
   */
  refused?(request: HookRequest, error: HookError): void | Promise<void>;
}

const NO_BODY = Buffer.alloc(0);

/** Answers whatever is no route of the operator's. The promise never rejects; it resolves once the answer is written. */
export type ServeHook = (exchange: Exchange) => Promise<void>;

/** The checks in their order: route, method, credential, size, body. `draining` true: nothing new is taken on. */
export function createServeHook(options: HookOptions, draining: () => boolean): ServeHook {
  const authenticate = createAuthenticate(options.telemetry.log);

  return async function serveHook(exchange): Promise<void> {
    try {
      const response = await answer(exchange);
      if (response) respond(exchange, response);
    } catch (error) {
      respond(exchange, reportError(options.telemetry.log, exchange, error));
    }
  };

  async function answer(exchange: Exchange): Promise<HookResponse | undefined> {
    const { hooks } = options.config();
    const route = requireRoute(exchange, hooks);
    if (draining()) throw new HookError("draining");
    const request = admit(exchange, route, { token: hooks.token, authenticate });
    const limits = { maxBytes: hooks.maxBodyBytes, timeoutMs: hooks.bodyTimeoutMs };
    const isWhole = await readRequest(exchange, request, limits).catch(async (error: unknown) => {
      if (error instanceof HookError) await options.refused?.(request, error);
      throw error;
    });
    return isWhole ? options.receive(request) : undefined;
  }

  function respond(exchange: Exchange, response: HookResponse): void {
    const headers = draining() ? { ...response.headers, Connection: "close" } : response.headers;
    writeResponse(exchange, { ...response, headers });
  }
}

function requireRoute({ req }: Exchange, hooks: IngressConfig["hooks"]): Route {
  // RFC 9112, 3.2. Node would answer without a body of ours.
  if (req.headers.host === undefined && req.httpVersion === "1.1") {
    throw new HookError("bad_request", { message: "The Host header is missing." });
  }
  const route = hooks.enabled ? matchRoute(req.url ?? "", hooks.path) : undefined;
  if (!route) throw new HookError("not_found");
  return route;
}

/** A request that showed no right credential learns nothing about which names exist: 401 before 404. */
function admit(
  exchange: Exchange,
  route: Route,
  { token, authenticate }: { token: string; authenticate: Authenticate },
): HookRequest {
  if (exchange.req.method !== "POST") throw wrongMethod();
  const query = route.search === "" ? {} : Object.fromEntries(new URLSearchParams(route.search));
  authenticate(exchange, query, token);
  if (route.hook === undefined) throw new HookError("not_found");
  delete query[TOKEN_PARAMETER];
  return toUnreadRequest(exchange, { path: route.path, hook: route.hook, query });
}

function toUnreadRequest(
  { id, req, client }: Exchange,
  route: Pick<HookRequest, "hook" | "path" | "query">,
): HookRequest {
  const idempotencyKey = req.headers["idempotency-key"];
  return {
    id,
    ...route,
    method: "POST",
    headers: toVisibleHeaders(req.headers),
    rawBody: NO_BODY,
    payload: undefined,
    payloadIsBody: false,
    contentType: req.headers["content-type"] ?? "",
    receivedAt: Date.now(),
    credential: "token",
    client,
    ...(typeof idempotencyKey === "string" && idempotencyKey !== "" && { idempotencyKey }),
  };
}

function wrongMethod(): HookError {
  return new HookError("method_not_allowed", { message: "Hooks take POST only.", headers: { Allow: "POST" } });
}

/**
 * Reads and parses the body into `request`, whose `rawBody` is set as soon as it is known. Throws the 4xx of a body that
 * cannot be taken. False: the client went away.
 */
async function readRequest(
  { req, res }: Exchange,
  request: HookRequest,
  limits: { maxBytes: number; timeoutMs: number },
): Promise<boolean> {
  if (Number(req.headers["content-length"] ?? 0) > limits.maxBytes) throw bodyTooLarge(limits.maxBytes);
  const kind = requireBodyKind(request.contentType);
  const codings = parseCodings(req.headers["content-encoding"] ?? "");

  sendContinue(req, res);
  const body = await readBody(req, limits);
  if (body === undefined) return false;

  request.rawBody = codings.length > 0 ? await inflate(body, codings, limits.maxBytes) : body;
  Object.assign(request, parseBody(kind, request.rawBody));
  return true;
}

/** Copies the headers that templates, transforms and the journal may see; repeated ones are joined by `, `. */
export function toVisibleHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const visible: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || SECRET_HEADERS.has(name)) continue;
    visible[name] = typeof value === "string" ? value : value.join(", ");
  }
  return visible;
}
