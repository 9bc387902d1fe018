import {
  fastify,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import type { Server, ServerResponse } from "node:http";
import { ConfigError, HookError, messageOf } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { toClient } from "./auth/throttle.ts";
import { createInFlight, type InFlight } from "./drain.ts";
import { type Exchange, sendContinue } from "./exchange.ts";
import { createServeHook, type HookOptions } from "./handler.ts";
import { handleInProcess } from "./in-process.ts";
import { errorToResponse, reportError } from "./respond.ts";
import { createClientErrorHandler, writeResponse } from "./write-response.ts";

export interface IngressOptions extends HookOptions {
  /** Adds the operator's routes: they take precedence over hooks. A request's id is a UUIDv7. */
  register?(app: FastifyInstance): void;
  /** How long `close` waits for what is in flight, in milliseconds. */
  drainMs?: number;
}

export interface IngressServer {
  /** Accepts connections on `gateway.host` and `gateway.port`; resolves with where that really is. */
  listen: () => Promise<{ url: string; port: number }>;
  /** The same service without a socket. */
  handle: (request: Request) => Promise<Response>;
  /** Takes nothing new, finishes what is in flight, closes every connection. */
  close: () => Promise<void>;
}

const DRAIN_MS = 10_000;

/** Fastify parses no hook and logs nothing: each of its conveniences costs what a hook has no use for. */
const FRAMEWORK_OPTIONS = {
  logger: false,
  genReqId: createId,
  // Nothing merges a payload into an object of ours, and a trial must take what the hook would.
  onProtoPoisoning: "ignore",
  onConstructorPoisoning: "ignore",
  return503OnClosing: false,
  // Over the longest `hooks.bodyTimeoutSeconds`: this one ends requests that nobody waits for any more.
  requestTimeout: 330_000,
  http: { headersTimeout: 30_000, connectionsCheckingInterval: 5_000, requireHostHeader: false },
} satisfies FastifyHttpOptions<Server>;

export function createServer(options: IngressOptions): IngressServer {
  const inFlight = createInFlight();
  let closing: Promise<void> | undefined;
  const draining = (): boolean => closing !== undefined;
  const serveHook = createServeHook(options, draining);
  const app = createApp(options.config().gateway.trustedProxies, inFlight, {
    begin: (res) => inFlight.begin(res),
    draining,
    serve: (exchange) => inFlight.track(serveHook(exchange)),
    fail: (exchange, error) => writeResponse(exchange, reportError(options.telemetry.log, exchange, error)),
  });
  options.register?.(app);

  return {
    async listen() {
      const { host, port } = options.config().gateway;
      const url = await app.listen({ host, port }).catch((error: unknown) => {
        const message = `cannot listen on ${host}, port ${port}: ${messageOf(error)}`;
        throw new ConfigError([{ key: "gateway.port", message }]);
      });
      const address = app.server.address();
      return { url, port: typeof address === "object" && address ? address.port : port };
    },

    async handle(request) {
      if (closing) return toClosedResponse();
      return handleInProcess((injection) => app.inject(injection), request);
    },

    close() {
      closing ??= drain(app, inFlight, options.drainMs ?? DRAIN_MS);
      return closing;
    },
  };
}

function createApp(trustedProxies: string[], inFlight: InFlight, handlers: Handlers): FastifyInstance {
  const app = fastify({
    ...FRAMEWORK_OPTIONS,
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    clientErrorHandler: createClientErrorHandler((socket) => inFlight.newest(socket)),
    // A path that cannot be decoded comes here instead of to `takeOver`.
    frameworkErrors: (_error, request, reply) => {
      handlers.begin(reply.raw);
      takeRequest(request, reply, handlers.serve);
    },
  });
  takeOver(app, handlers);
  return app;
}

/** As long as anything is in flight, whoever comes new is told so by a 503, not left with a refused connection. */
async function drain(app: FastifyInstance, inFlight: InFlight, limitMs: number): Promise<void> {
  app.server.closeIdleConnections();
  await inFlight.idle(limitMs);
  const closed = app.close();
  // What is still open has nothing in flight, or has had its time.
  app.server.closeAllConnections();
  await closed;
}

function toClosedResponse(): Response {
  const { status, headers, body } = errorToResponse(new HookError("draining"), createId());
  return Response.json(body, { status, headers });
}

type Answer = (exchange: Exchange) => void;

interface Handlers {
  /** Called for every request before its body is read. */
  begin: (res: ServerResponse) => void;
  /** True while nothing new is taken on. */
  draining: () => boolean;
  /** Answers a request that no route was added for. */
  serve: Answer;
  /** Answers a request whose route failed. */
  fail: (exchange: Exchange, error: unknown) => void;
}

/** Leaves the framework the routes that were added to it, and takes everything else, before it parses a body. */
function takeOver(app: FastifyInstance, { begin, draining, serve, fail }: Handlers): void {
  app.addHook("onRequest", (request, reply, next) => {
    begin(reply.raw);
    if (request.is404) return takeRequest(request, reply, serve);
    if (draining()) throw new HookError("draining");
    sendContinue(request.raw, reply.raw);
    next();
  });
  app.setErrorHandler((error, request, reply) => {
    takeRequest(request, reply, (exchange) => fail(exchange, error));
  });
  app.setNotFoundHandler((request, reply) => {
    const error = new HookError("not_found");
    takeRequest(request, reply, (exchange) => fail(exchange, error));
  });
  // A client that sends `Expect: 100-continue` asks before it sends the body: the head is judged first.
  for (const event of ["checkContinue", "checkExpectation"]) {
    app.server.on(event, (req, res) => app.routing(req, res));
  }
}

/** From here on the framework leaves the request alone, and sends no answer of its own. */
function takeRequest(request: FastifyRequest, reply: FastifyReply, answer: Answer): void {
  reply.hijack();
  answer({ id: request.id, req: request.raw, res: reply.raw, client: toClient(request.ip) });
}
