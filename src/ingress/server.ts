import { once } from "node:events";
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigError, HookError, messageOf, toHookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { type Describe, inRequestSpan } from "../telemetry/traces.ts";
import type { HttpResponse } from "../types.ts";
import { ClientGone } from "./body.ts";
import {
  createClientErrorHandler,
  createClientResolver,
  errorToResponse,
  type Exchange,
  http,
  splitTarget,
  writeResponse,
} from "./exchange.ts";
import { handleInProcess } from "./in-process.ts";
import { createRouter, matchHook, type Routes } from "./router.ts";
import { createServeHook, type HookOptions } from "./serve-hook.ts";
import { createBurstQueue } from "./overload.ts";

export interface IngressOptions extends HookOptions {
  /** Everything that is not a hook. Routes take precedence over hooks. */
  routes?: Routes;
  /** How long `drain` waits for requests in flight, in milliseconds. */
  drainMs?: number;
}

export interface IngressServer {
  /** Accepts connections on `gateway.host` and `gateway.port`; resolves with the real address. */
  listen(): Promise<{ url: string; port: number }>;
  /** The same service without a socket. */
  handle(request: Request): Promise<Response>;
  /** Answers new requests other than `/healthz` with 503 from now on, and finishes those in flight. */
  drain(): Promise<void>;
  /** Drains, then closes the port and every connection. */
  close(): Promise<void>;
}

const DRAIN_MS = 10_000;

const SERVER_OPTIONS: ServerOptions = {
  // Longer than the largest `hooks.bodyTimeoutSeconds`: this one only ends connections that nobody waits for.
  requestTimeout: 330_000,
  headersTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 72_000,
  // Checked here instead, so that the answer has a body.
  requireHostHeader: false,
};

/** Serves hooks and all other routes over HTTP and in process. */
export function createServer(options: IngressOptions): IngressServer {
  const { current, telemetry, routes = {}, drainMs = DRAIN_MS } = options;
  const router = createRouter(routes);
  const serveHook = createServeHook(options);
  const bursts = createBurstQueue();
  const clientOf = createClientResolver(current().config.gateway.trustedProxies);
  /** Responses that are not sent, and work that is not done, also when its client has gone. */
  let inFlight = 0;
  let onIdle = (): void => {};
  /** The latest response of each connection. */
  const newest = new WeakMap<Socket, ServerResponse>();
  let draining: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  const server = http.createServer(SERVER_OPTIONS, onRequest);
  server.on(
    "clientError",
    createClientErrorHandler((socket) => newest.get(socket)),
  );
  server.on("connection", bursts.accept);
  // A client that sends `Expect: 100-continue` waits before it sends the body: the head is checked first.
  server.on("checkContinue", onRequest).on("checkExpectation", onRequest);

  return {
    async listen() {
      const { host, port } = current().config.gateway;
      await listenOn(server, host, port);
      const address = server.address();
      const realPort = typeof address === "object" && address ? address.port : port;
      return { url: toUrl(host, realPort), port: realPort };
    },
    handle: (request) => handleInProcess(request, async (exchange) => answer(exchange), clientOf),
    drain,
    close: () => (closing ??= close()),
  };

  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    newest.set(req.socket, res);
    inFlight++;
    res.on("close", leave);
    const exchange = toExchange(req, res);
    const fail = (error: unknown): void => {
      // Nobody is there to answer, or no answer can be written.
      res.destroy();
      if (!(error instanceof ClientGone)) errorToResponse(error, exchange.id, telemetry.log);
    };
    const write = (response: HttpResponse): void => {
      try {
        writeResponse(exchange, response, res);
      } catch (error) {
        fail(error);
      }
    };
    try {
      const answered = answer(exchange);
      if (answered instanceof Promise) answered.then(write, fail);
      else write(answered);
    } catch (error) {
      fail(error);
    }
  }

  function toExchange(req: IncomingMessage, res: ServerResponse): Exchange {
    const forwarded = req.headers["x-forwarded-for"];
    const { path, search } = splitTarget(req.url ?? "");
    return {
      id: createId(),
      method: req.method ?? "",
      path,
      search,
      malformed: findFlaw(req),
      headers: req.headers,
      rawHeaders: req.rawHeaders,
      client: clientOf(req.socket.remoteAddress, typeof forwarded === "string" ? forwarded : undefined),
      body: req,
      sendContinue() {
        if (req.headers.expect?.toLowerCase() === "100-continue") res.writeContinue();
      },
      isOwn: false,
      answerHeaders: {},
    };
  }

  /** Throws or rejects only with `ClientGone`. */
  function answer(exchange: Exchange): HttpResponse | Promise<HttpResponse> {
    inFlight++;
    try {
      const answered = dispatch(exchange);
      return answered instanceof Promise ? answered.then(finish, fail) : finish(answered);
    } catch (error) {
      return fail(error);
    }

    function finish(answered: HttpResponse | HookError): HttpResponse {
      leave();
      if (!(answered instanceof HookError)) return closeWhenDraining(answered);
      return closeWhenDraining(errorToResponse(answered, exchange.id, telemetry.log));
    }

    function fail(error: unknown): HttpResponse {
      leave();
      if (error instanceof ClientGone) throw error;
      return closeWhenDraining(errorToResponse(error, exchange.id, telemetry.log));
    }
  }

  function dispatch(exchange: Exchange): HttpResponse | HookError | Promise<HttpResponse | HookError> {
    // The process is up while it finishes its work: a supervisor that asks must not kill it.
    if (draining && exchange.path !== "/healthz") throw new HookError("draining");
    if (exchange.malformed) {
      throw new HookError("bad_request", { message: exchange.malformed, headers: { Connection: "close" } });
    }
    const routed = router.serve(exchange);
    if (routed) return routed;
    return inRequestSpan(exchange.method, exchange.headers, (describe) => measureAnswer(exchange, describe));
  }

  /** A refusal is not thrown: under a flood of them, that would be most of their cost. */
  function measureAnswer(exchange: Exchange, describe: Describe): HookError | Promise<HttpResponse | HookError> {
    const startedAt = performance.now();
    const answered = answerHook(exchange);
    if (answered instanceof HookError) return show(answered);
    return answered.then(show, (cause: unknown) => {
      if (!(cause instanceof ClientGone)) show(toHookError(cause));
      throw cause;
    });

    function show<Answer extends HttpResponse | HookError>(result: Answer): Answer {
      const { id, method, path } = exchange;
      const { status } = result;
      const durationMs = performance.now() - startedAt;
      const hook = nameOf(path);
      telemetry.activity.answered({ hook, status, ms: durationMs });
      describe?.({ "hookline.hook": hook, "hookline.event_id": id, "http.response.status_code": status });
      const error = result instanceof HookError ? result : undefined;
      telemetry.follower?.answered({ id, method, path, status, error, durationMs });
      return result;
    }
  }

  /** The hook, if the configuration names it: others are a sender's choice. */
  function nameOf(path: string): string | undefined {
    const { config, mappings } = current();
    const hook = matchHook(path, config.hooks.path)?.hook;
    return hook !== undefined && mappings.names(hook) ? hook : undefined;
  }

  function answerHook(exchange: Exchange): HookError | Promise<HttpResponse | HookError> {
    const turn = bursts.wait(() => nameOf(exchange.path));
    return turn ? turn.then(() => beginHook(exchange)) : beginHook(exchange);
  }

  function beginHook(exchange: Exchange): HookError | Promise<HttpResponse | HookError> {
    const program = current();
    const { enabled, path } = program.config.hooks;
    const isOpen = enabled && (exchange.isOwn || program.config.gateway.role !== "worker");
    const route = isOpen ? matchHook(exchange.path, path) : undefined;
    if (!route) return router.refuse(exchange);
    return serveHook(exchange, route.hook, program);
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

/** Node's parser accepts these heads, but a proxy in front may have read another request in them. */
function findFlaw({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "Send HTTP/1.1 or HTTP/1.0.";
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  if (hosts > 1) return "Send one Host header.";
  return hosts === 0 && httpVersion === "1.1" ? "The Host header is missing." : undefined;
}

/** Connections that wait to be accepted: of those that come at once beyond it, each is retried by its client's kernel after 1 s. */
const BACKLOG = 4096;

async function listenOn(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port, backlog: BACKLOG });
  await once(server, "listening").catch((error: unknown) => {
    const message = `cannot listen on ${host}, port ${port}: ${messageOf(error)}`;
    throw new ConfigError([{ key: "gateway.port", message }]);
  });
}

/** An address under which this machine reaches the server. */
function toUrl(host: string, port: number): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
