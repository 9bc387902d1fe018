import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ServerResponse } from "node:http";
import { HookError } from "../errors.ts";
import { toClient } from "./client.ts";
import type { Exchange } from "./exchange.ts";
import { sendContinue } from "./send-continue.ts";
import { shuttingDown } from "./serve-hook.ts";

type Answer = (exchange: Exchange) => void;

export interface Handlers {
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
export function takeOver(app: FastifyInstance, { begin, draining, serve, fail }: Handlers): void {
  app.addHook("onRequest", (request, reply, next) => {
    begin(reply.raw);
    if (request.is404) return takeRequest(request, reply, serve);
    if (draining()) throw shuttingDown();
    sendContinue(request.raw, reply.raw);
    next();
  });
  app.setErrorHandler((error, request, reply) => {
    takeRequest(request, reply, (exchange) => fail(exchange, error));
  });
  app.setNotFoundHandler((request, reply) => {
    const error = new HookError(404, "not_found", "There is nothing at this path.");
    takeRequest(request, reply, (exchange) => fail(exchange, error));
  });
  // A client that sends `Expect: 100-continue` asks before it sends the body: the head is judged first.
  for (const event of ["checkContinue", "checkExpectation"]) {
    app.server.on(event, (req, res) => app.routing(req, res));
  }
}

/** From here on the framework leaves the request alone, and sends no answer of its own. */
export function takeRequest(request: FastifyRequest, reply: FastifyReply, answer: Answer): void {
  reply.hijack();
  answer({ id: request.id, req: request.raw, res: reply.raw, client: toClient(request.ip) });
}
