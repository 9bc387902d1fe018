import { createMcpHandler, ProtocolError, Server } from "@modelcontextprotocol/server";
import type { McpPrincipal } from "../core/config/resolved-config.ts";
import { HookError, messageOf } from "../core/errors.ts";
import type { Exchange } from "../core/ingress/exchange.ts";
import { isOwnHost } from "../core/shared/net/own-host.ts";
import type { RouteHandler } from "../core/ingress/router.ts";
import { isObject, readOwn, toObject } from "../core/shared/json.ts";
import { packageVersion } from "../core/shared/system/package.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { HttpResponse } from "../core/types.ts";
import type { AuditList } from "../core/ports/audit.ts";
import { CODES, McpError } from "./errors.ts";
import type { Params } from "./params.ts";
import type { Authenticate, PrincipalSettings } from "./principals.ts";
import type { Requests } from "./requests.ts";

export interface EndpointParts {
  settings(): PrincipalSettings & { gateway: { host: string; publicUrl: string | undefined } };
  authenticate: Authenticate;
  requests: Requests;
  audit: AuditList;
  log: Log;
}

const MAX_BODY_BYTES = 256 * 1024;
/** Requests of a principal in a minute. */
const MAX_REQUESTS = 600;
const MINUTE_MS = 60_000;

/** Both eras of clients read one of these. */
const CAPABILITIES = { events: {}, extensions: { "io.modelcontextprotocol/events": {} } };

/** `POST /mcp`: streamable HTTP without sessions. Who asks is decided before any JSON-RPC. */
export function createEndpoint({ settings, authenticate, requests, audit, log }: EndpointParts): RouteHandler {
  const takeTurn = createTurns();
  const handler = createMcpHandler(({ authInfo }) => createOwnServer(toCaller(authInfo)), { keepAliveMs: 0 });

  return async function serve({ exchange, readJson }) {
    requireOrigin(exchange, settings().gateway);
    const principal = await authenticate(exchange, settings()).catch((error: unknown) => {
      note({ exchange, method: "POST /mcp" }, error);
      throw error;
    });
    if (exchange.method !== "POST") throw new HookError("method_not_allowed", { headers: { Allow: "POST" } });
    takeTurn(principal.name);
    let body: unknown;
    try {
      body = await readJson(MAX_BODY_BYTES);
    } catch (error) {
      if (!(error instanceof HookError) || error.status !== 400) throw error;
      return toRefusal(undefined, -32700, "The body is not JSON.");
    }
    if (body === undefined) return toRefusal(undefined, -32700, "The body is empty. Send one JSON-RPC message.");
    const method = readOwn(body, "method");
    // Streams are not served, and neither are batches.
    if (method === "subscriptions/listen") return toRefusal(body, -32601, "Method not found");
    if (!isObject(body)) return toRefusal(body, -32600, "Send one JSON-RPC message.");
    const response = await handler.fetch(toRequest(exchange), {
      parsedBody: body,
      authInfo: { token: "", clientId: principal.name, scopes: [], extra: { principal, exchange } },
    });
    const text = Buffer.from(await response.arrayBuffer());
    const headers = Object.fromEntries(["content-type", "allow"].flatMap((name) => toEntry(name, response.headers)));
    return { status: response.status, headers, body: text.length > 0 ? text : undefined };
  };

  function createOwnServer({ principal, exchange }: Caller): Server {
    const server = new Server({ name: "hookline", version: packageVersion() }, { capabilities: CAPABILITIES });
    for (const [method, answer] of Object.entries(requests)) {
      server.setRequestHandler(method, ANY_PARAMS, async (given) => {
        const params = toObject(given);
        const about = { exchange, principal, method, params };
        try {
          const result = await answer(principal, params);
          note(about);
          return { ...result };
        } catch (error) {
          note(about, error);
          throw toProtocolError(error, log);
        }
      });
    }
    return server;
  }

  function note(
    { exchange, principal, method, params }: Partial<Caller> & { exchange: Exchange; method: string; params?: Params },
    error?: unknown,
  ): void {
    const event = typeof params?.["name"] === "string" ? params["name"] : undefined;
    const outcome = toOutcome(error);
    audit.add({ at: Date.now(), principal: principal?.name, client: exchange.client, method, event, outcome });
  }
}

interface Caller {
  principal: McpPrincipal;
  exchange: Exchange;
}

function toCaller(authInfo: { extra?: Record<string, unknown> } | undefined): Caller {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `serve` passes it.
  return authInfo?.extra as unknown as Caller;
}

/** The requests check their own parameters. */
const ANY_PARAMS = {
  params: {
    "~standard": {
      version: 1 as const,
      vendor: "hookline",
      validate: (value: unknown): { value: unknown } => ({ value }),
    },
  },
};

function toProtocolError(error: unknown, log: Log): ProtocolError {
  if (error instanceof McpError) return new ProtocolError(error.code, error.message, error.data);
  log.error("a request to the MCP endpoint failed", { error: error instanceof Error ? error.stack : messageOf(error) });
  return new ProtocolError(CODES.internal, "Internal error. Try again.");
}

function toOutcome(error: unknown): string {
  if (error === undefined) return "ok";
  if (error instanceof McpError) return String(error.code);
  return error instanceof HookError ? String(error.status) : String(CODES.internal);
}

function toRefusal(body: unknown, code: number, message: string): HttpResponse {
  const id = readOwn(body, "id");
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  return { status: 400, headers: {}, body: { jsonrpc: "2.0", id: known, error: { code, message } } };
}

/** DNS rebinding: a page of another site must not reach the endpoint through a name that leads here. */
function requireOrigin({ headers }: Exchange, gateway: { host: string; publicUrl: string | undefined }): void {
  const { origin, host } = headers;
  const isOwn = isOwnHost(host, gateway) && (origin === undefined || URL.parse(origin)?.host === host);
  if (isOwn) return;
  throw new HookError("forbidden", {
    message: "The MCP endpoint is not served under this host name or for this origin. Set gateway.publicUrl.",
  });
}

function toRequest({ method, headers }: Exchange): Request {
  const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || name === "authorization" ? [] : [[name, String(value)]],
  );
  return new Request("http://localhost/mcp", { method, headers: entries });
}

function toEntry(name: string, headers: Headers): [string, string][] {
  const value = headers.get(name);
  return value === null ? [] : [[name === "allow" ? "Allow" : "Content-Type", value]];
}

/** Throws a 429 if a principal asks too often. */
function createTurns(): (principal: string) => void {
  const used = new Map<string, { from: number; count: number }>();
  return function takeTurn(principal) {
    const now = performance.now();
    const turns = used.get(principal);
    if (!turns || now - turns.from >= MINUTE_MS) {
      used.set(principal, { from: now, count: 1 });
      return;
    }
    turns.count += 1;
    if (turns.count <= MAX_REQUESTS) return;
    const seconds = Math.ceil((turns.from + MINUTE_MS - now) / 1000);
    throw new HookError("too_many_requests", { headers: { "Retry-After": String(seconds) } });
  };
}
