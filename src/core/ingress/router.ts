import { HookError } from "../errors.ts";
import type { HttpResponse } from "../types.ts";
import { type BodyLimits, inflate, parseCodings, receiveBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { isJson, parseJsonBody } from "./parse-body.ts";
import { findExactPayload } from "../shared/exact-json.ts";
import { readOwn, toObject } from "../shared/json.ts";

/** A request to a route that is not a hook. */
export interface RouteRequest {
  exchange: Exchange;
  /** The decoded values of the pattern's `:names`. */
  params: Record<string, string>;
  query: URLSearchParams;
  /** Parses the body as JSON; undefined when it is empty. Throws a 400, 408, 413 or 415. */
  readJson(maxBytes?: number): Promise<unknown>;
}

export type RouteHandler = (request: RouteRequest) => HttpResponse | Promise<HttpResponse>;

/**
 * Handlers by method and path. `:name` matches one segment, a final `/:name*` the rest of the path or nothing; the
 * method `*` matches any. The first match wins.
 */
export type Routes = Record<string, RouteHandler>;

export interface Router {
  /** The answer of the route that matches; undefined when none does. */
  serve(exchange: Exchange): HttpResponse | Promise<HttpResponse> | undefined;
  /** The error for a request that no route serves. */
  refuse(exchange: Pick<Exchange, "path">): HookError;
}

export function createRouter(routes: Routes): Router {
  const compiled = Object.entries(routes).map(([route, handle]) => ({ ...compile(route), handle }));

  return {
    serve(exchange) {
      // A HEAD request gets the headers of the GET.
      const method = exchange.method === "HEAD" ? "GET" : exchange.method;
      for (const route of compiled) {
        if (route.method !== "*" && route.method !== method) continue;
        const match = route.pattern.exec(exchange.path);
        if (match) return route.handle(toRouteRequest(exchange, match.groups));
      }
      return undefined;
    },
    refuse({ path }) {
      const methods = new Set(compiled.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
      if (methods.size > 0) return wrongMethod(...methods);
      return new HookError("not_found", { message: "There is no such path." });
    },
  };
}

/** The error for a path that takes only other methods. */
export function wrongMethod(...allowed: string[]): HookError {
  return new HookError("method_not_allowed", { headers: { Allow: allowed.join(", ") } });
}

/** The limits of a JSON body that is sent to any route but a hook. */
const JSON_LIMITS: BodyLimits = { maxBytes: 1024 * 1024, timeoutMs: 30_000 };

/** Reads and parses a JSON body; undefined when it is empty. A field `payload` keeps its long numbers as they are written. */
async function readJson(exchange: Exchange, maxBytes = JSON_LIMITS.maxBytes): Promise<unknown> {
  if (!isJson(exchange.headers["content-type"] ?? "")) throw new HookError("unsupported_media_type");
  const codings = parseCodings(exchange.headers);
  const body = await inflate(await receiveBody(exchange, { ...JSON_LIMITS, maxBytes }), codings, maxBytes);
  if (body.length === 0) return undefined;
  const parsed = parseJsonBody(body);
  const exact = readOwn(findExactPayload({ ...parsed, rawBody: body }), "payload");
  return exact === undefined ? parsed.payload : { ...toObject(parsed.payload), payload: exact };
}

export function json(body: unknown, status = 200): HttpResponse {
  return { status, headers: {}, body };
}

function compile(route: string): { method: string; pattern: RegExp } {
  const [method = "", path = ""] = route.split(" ");
  const pattern = path.replace(/\/:(\w+)\*$/, "(?:/(?<$1>.*))?").replace(/:(\w+)/g, "(?<$1>[^/]+)");
  return { method, pattern: new RegExp(`^${pattern}$`) };
}

function toRouteRequest(exchange: Exchange, groups: Record<string, string | undefined> = {}): RouteRequest {
  return {
    exchange,
    params: Object.fromEntries(Object.entries(groups).map(([name, value = ""]) => [name, requireDecoded(value)])),
    query: new URLSearchParams(exchange.search),
    readJson: (maxBytes) => readJson(exchange, maxBytes),
  };
}

function requireDecoded(encoded: string): string {
  const decoded = decodePath(encoded);
  if (decoded === undefined) throw new HookError("not_found");
  return decoded;
}

/** An empty, `.` or `..` segment: a proxy in front may have read it as another path. */
const ODD_SEGMENT = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** A path under the hooks prefix. */
export interface HookRoute {
  /** The decoded name; undefined when the path cannot be the name of a hook. */
  hook: string | undefined;
}

/** Finds the hook that a path names; undefined when the path is not under `prefix` (`/hooks`). */
export function matchHook(path: string, prefix: string): HookRoute | undefined {
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  if (rest !== "" && rest[0] !== "/") return undefined;
  const encoded = rest.slice(1, rest.endsWith("/") ? -1 : undefined);
  const hook = decodePath(encoded);
  return { hook: hook === undefined || ODD_SEGMENT.test(hook) ? undefined : hook };
}

/** Decodes percent-encoding once; undefined when it is invalid. */
function decodePath(encoded: string): string | undefined {
  if (!encoded.includes("%")) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
