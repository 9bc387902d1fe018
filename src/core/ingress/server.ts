import { toServiceAddress } from "../shared/system/owner.ts";
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigError, HookError, messageOf, toHookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { SERVER_OPTIONS } from "../shared/net/server-options.ts";
import { type Describe, inRequestSpan } from "../telemetry/traces.ts";
import type { HttpResponse } from "../types.ts";
import { ClientGone } from "./body.ts";
import {
  type ClientResolver,
  createClientErrorHandler,
  createClientResolver,
  errorToResponse,
  type Exchange,
  http,
  rejectReadBody,
  splitTarget,
  writeResponse,
} from "./exchange.ts";
import { handleInProcess, type InProcessOptions } from "./in-process.ts";
import { createBurstQueue } from "./overload.ts";
import { createRouter, matchHook, type Routes } from "./router.ts";
import { createServeHook, type HookOptions, type IngressRuntime, nameHook } from "./serve-hook.ts";

export interface IngressOptions<Runtime extends IngressRuntime = IngressRuntime> extends HookOptions<Runtime> {
  /** Everything that is not a hook. Routes take precedence over hooks. */
  routes?: Routes;
  /** Called with the answer to each request to a hook, or to a path that does not exist. */
  answered?(request: AnsweredRequest): void;
  /** How long `drain` waits for requests in flight, in milliseconds. */
  drainMs?: number;
}

/** Its id is also that of its event, unless it was refused too early or repeats an earlier one. */
export interface AnsweredRequest extends Pick<Exchange, "id" | "method" | "path"> {
  status: number;
  durationMs: number;
  error?: Pick<HookError, "code" | "message">;
}

export interface IngressServer {
  /** Accepts connections on `gateway.host` and `gateway.port`; resolves with the real address. */
  listen(): Promise<{ url: string; port: number }>;
  /** The same service without a socket. */
  handle(request: Request, options?: InProcessOptions): Promise<Response>;
  /**
   * Answers a request of another program's server; with `next` only one to a hook. Never rejects, and needs no `this`.
   */
  nodeHandler(req: IncomingMessage, res: ServerResponse, next?: () => void): Promise<void>;
  /** Answers a request from another listener, if it is one to a hook. */
  serveHook(req: IncomingMessage, res: ServerResponse): Promise<void>;
  /** Answers new requests other than `/healthz` with 503 from now on, and finishes those in flight. */
  drain(): Promise<void>;
  /** Drains, then closes the port and every connection. */
  close(): Promise<void>;
}

type Dispatch = (exchange: Exchange) => HttpResponse | Promise<HttpResponse>;

const DRAIN_MS = 10_000;

/** Serves hooks and all other routes over HTTP and in process. */
export function createServer<Runtime extends IngressRuntime>(options: IngressOptions<Runtime>): IngressServer {
  const { current, telemetry, routes = {}, drainMs = DRAIN_MS } = options;
  const router = createRouter(routes);
  const bursts = createBurstQueue();
  const serveHook = createServeHook({ ...options, router, bursts });
  const clientOf = createClientResolver(current().config.gateway.trustedProxies);
  /** Responses that are not sent, and work that is not done, also when its client has gone. */
  let inFlight = 0;
  let onIdle = (): void => {};
  /** The latest response of each connection. */
  const newest = new WeakMap<Socket, ServerResponse>();
  let draining: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  const server = http.createServer(SERVER_OPTIONS, (req, res) => void onRequest(req, res));
  server.on(
    "clientError",
    createClientErrorHandler((socket) => newest.get(socket)),
  );
  server.on("connection", bursts.accept);
  // A client that sends `Expect: 100-continue` waits before it sends the body: the head is checked first.
  const onExpect = (req: IncomingMessage, res: ServerResponse): void => void onRequest(req, res);
  server.on("checkContinue", onExpect).on("checkExpectation", onExpect);

  return {
    async listen() {
      const { host, port } = current().config.gateway;
      await listenOn(server, host, port);
      const address = server.address();
      const realPort = typeof address === "object" && address ? address.port : port;
      return { url: toServiceAddress({ host, port: realPort }), port: realPort };
    },
    handle: (request, given) => handleInProcess(request, answer, clientOf, given),
    nodeHandler(req, res, next) {
      if (!next) return onRequest(req, res);
      if (matchHook(splitTarget(targetOf(req)).path, current().config.hooks.path))
        return onRequest(req, res, dispatchHook);
      next();
      return Promise.resolve();
    },
    serveHook: (req, res) => onRequest(req, res, dispatchHook),
    drain,
    close: () => (closing ??= close()),
  };

  async function onRequest(req: IncomingMessage, res: ServerResponse, to: Dispatch = dispatch): Promise<void> {
    newest.set(req.socket, res);
    inFlight++;
    res.on("close", leave);
    const exchange = toExchange(req, res, clientOf);
    try {
      writeResponse(exchange, await answer(exchange, to), res);
    } catch (error) {
      // Nobody is there to answer, or no answer can be written.
      res.destroy();
      if (!(error instanceof ClientGone)) errorToResponse(error, exchange.id, telemetry.log);
    }
  }

  /** The one place where an error becomes an answer. Rejects only with `ClientGone`. */
  async function answer(exchange: Exchange, to: Dispatch = dispatch): Promise<HttpResponse> {
    inFlight++;
    try {
      return closeWhenDraining(await to(exchange));
    } catch (error) {
      if (error instanceof ClientGone) throw error;
      return closeWhenDraining(errorToResponse(error, exchange.id, telemetry.log));
    } finally {
      leave();
    }
  }

  /** A path without its own route is that of a hook. */
  function dispatch(exchange: Exchange): HttpResponse | Promise<HttpResponse> {
    // The process is up while it finishes its work: a supervisor that asks must not kill it.
    if (draining && exchange.path !== "/healthz") throw new HookError("draining");
    requireGoodHead(exchange);
    return router.serve(exchange) ?? traceHook(exchange);
  }

  /** Not even a route whose path is under that of the hooks. */
  function dispatchHook(exchange: Exchange): Promise<HttpResponse> {
    if (draining) throw new HookError("draining");
    requireGoodHead(exchange);
    if (!matchHook(exchange.path, current().config.hooks.path)) throw new HookError("not_found");
    return traceHook(exchange);
  }

  function traceHook(exchange: Exchange): Promise<HttpResponse> {
    const { method, headers } = exchange;
    return inRequestSpan(method, headers, (describe) => measureHook(exchange, describe));
  }

  async function measureHook(exchange: Exchange, describe: Describe): Promise<HttpResponse> {
    const startedAt = performance.now();
    try {
      const response = await serveHook(exchange);
      measure(response);
      return response;
    } catch (error) {
      if (!(error instanceof ClientGone)) measure(toHookError(error));
      throw error;
    }

    function measure(answered: HttpResponse | HookError): void {
      const { id, method, path } = exchange;
      const { status } = answered;
      const durationMs = performance.now() - startedAt;
      const hook = nameHook(exchange, current());
      telemetry.activity.answered({ hook, status, ms: durationMs });
      describe?.({ "hookline.hook": hook, "hookline.event_id": id, "http.response.status_code": status });
      const error = answered instanceof HookError ? answered : undefined;
      options.answered?.({ id, method, path, status, error, durationMs });
    }
  }

  function leave(): void {
    inFlight--;
    if (inFlight === 0) onIdle();
  }

  function closeWhenDraining(response: HttpResponse): HttpResponse {
    return draining ? { ...response, headers: { ...response.headers, Connection: "close" } } : response;
  }

  function drain(): Promise<void> {
    return (draining ??= finishInFlight());
  }

  async function finishInFlight(): Promise<void> {
    const idle = new Promise<void>((resolve) => (onIdle = resolve));
    if (inFlight > 0) await Promise.race([idle, delay(drainMs, undefined, { ref: false })]);
  }

  async function close(): Promise<void> {
    await drain();
    const closed = new Promise((resolve) => server.close(resolve));
    // Nothing is in flight on these, or it took too long.
    server.closeAllConnections();
    await closed;
  }
}

function requireGoodHead({ malformed }: Exchange): void {
  if (malformed) throw new HookError("bad_request", { message: malformed, headers: { Connection: "close" } });
}

/** A request with the fields that frameworks of other programs add. */
interface HostedRequest extends IncomingMessage {
  /** The target before the framework cut off the path that it has mounted us under. */
  originalUrl?: string;
  /** The bytes of a body that was read. */
  rawBody?: unknown;
}

function targetOf({ originalUrl, url = "" }: HostedRequest): string {
  return originalUrl ?? url;
}

function findBody(req: HostedRequest): Pick<Exchange, "body" | "received"> {
  if (!req.readableDidRead) return { body: req };
  return Buffer.isBuffer(req.rawBody)
    ? { body: Readable.from([req.rawBody]) }
    : { body: req, received: rejectReadBody() };
}

/** Node has sent it before the request reaches another program's server, unless that server listens to `checkContinue`. */
function isContinueSent(res: ServerResponse & { _sent100?: boolean }): boolean {
  return res._sent100 === true;
}

function toExchange(req: IncomingMessage, res: ServerResponse, clientOf: ClientResolver): Exchange {
  const forwarded = req.headers["x-forwarded-for"];
  const { path, search } = splitTarget(targetOf(req));
  return {
    id: createId(),
    method: req.method ?? "",
    path,
    search,
    malformed: findHeadFlaw(req),
    headers: req.headers,
    rawHeaders: req.rawHeaders,
    client: clientOf(req.socket.remoteAddress, typeof forwarded === "string" ? forwarded : undefined),
    ...findBody(req),
    sendContinue() {
      if (req.headers.expect?.toLowerCase() === "100-continue" && !isContinueSent(res)) res.writeContinue();
    },
    isOwn: false,
    answerHeaders: {},
  };
}

/** Node's parser accepts these heads, but a proxy in front may have read another request in them. */
function findHeadFlaw({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "Send HTTP/1.1 or HTTP/1.0.";
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts > 1) return "Send one Host header.";
  return hosts === 0 && httpVersion === "1.1" ? "The Host header is missing." : undefined;
}

/** Connections that wait to be accepted: of those that come at once beyond it, each is retried by its client's kernel after 1 s. */
const BACKLOG = 4096;

/** By the system's code: the key that is to be changed, and why. */
const LISTEN_PROBLEMS: Record<string, [key: string, reason: string]> = {
  EADDRINUSE: ["gateway.port", ", because another program does. Stop it, or set another port."],
  EACCES: ["gateway.port", ", because this user is not permitted to. Set a port from 1024."],
  EADDRNOTAVAIL: ["gateway.host", ", because this machine has no such address. Set one that it has."],
};

async function listenOn(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port, backlog: BACKLOG });
  await once(server, "listening").catch((error: unknown) => {
    const { code = "" }: { code?: string } = Object(error);
    const [key, reason] = LISTEN_PROBLEMS[code] ?? ["gateway.port", `: ${messageOf(error)}.`];
    throw new ConfigError([{ key, message: `The service cannot listen on ${host}, port ${port}${reason}` }]);
  });
}
