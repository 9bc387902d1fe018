import { PassThrough, pipeline, Readable } from "node:stream";
import { untilAborted } from "../shared/time.ts";
import { createId } from "../shared/id.ts";
import type { HttpResponse } from "../types.ts";
import { ClientGone } from "./body.ts";
import { type ClientResolver, discardRest, type Exchange, rejectReadBody, toWire } from "./exchange.ts";

export interface InProcessOptions {
  /** The address of the client, as a host's socket shows it. Default: 127.0.0.1. */
  client?: string | undefined;
  /** The service itself sends the request. */
  isOwn?: boolean;
}

/** Serves a web-standard request without a socket. Rejects when the request is aborted or its body breaks off. */
export async function handleInProcess(
  request: Request,
  answer: (exchange: Exchange) => Promise<HttpResponse>,
  clientOf: ClientResolver,
  options: InProcessOptions = {},
): Promise<Response> {
  const exchange = toExchange(request, clientOf, options);
  // The reader of the body gets its errors. Without a listener here, they would end the process.
  exchange.body.on("error", () => {});
  try {
    return toResponse(exchange, await untilAborted(answer(exchange), request.signal));
  } catch (error) {
    throw error instanceof ClientGone ? (error.cause ?? error) : error;
  } finally {
    endBody(exchange.body);
  }
}

/**
 * Tells the source of a body that the rest is not needed. A source that is canceled while it passes on a piece may throw
 * where nobody can catch it (Node's `Readable.toWeb` does), so the rest is read first, and the end comes in a later turn.
 */
function endBody(body: Readable): void {
  if (body.readableEnded || body.destroyed) return;
  discardRest(body, () => setImmediate(() => body.destroy()));
}

function toExchange(
  request: Request,
  clientOf: ClientResolver,
  { client = "127.0.0.1", isOwn = false }: InProcessOptions,
): Exchange {
  const { pathname, search, host } = new URL(request.url);
  const headers = { host, ...Object.fromEntries(request.headers) };
  return {
    id: createId(),
    method: request.method,
    path: pathname,
    search: search.slice(1),
    headers,
    rawHeaders: Object.entries(headers).flat(),
    client: clientOf(client, request.headers.get("x-forwarded-for") ?? undefined),
    ...openBody(request),
    sendContinue() {},
    isOwn,
    answerHeaders: {},
  };
}

function openBody({ body, bodyUsed }: Request): Pick<Exchange, "body" | "received"> {
  if (bodyUsed || body?.locked) return { body: Readable.from([]), received: rejectReadBody() };
  return { body: body ? Readable.fromWeb(body) : Readable.from([]) };
}

/** Statuses for which a `Response` must not have a body. */
const BODILESS = new Set([204, 205, 304]);

function toResponse(exchange: Exchange, response: HttpResponse): Response {
  const { headers, body } = toWire(exchange, response);
  // There is no connection to close.
  delete headers["Connection"];
  const isBodiless = exchange.method === "HEAD" || BODILESS.has(response.status);
  // A `Response` takes bytes, the stream may give text.
  const content = body instanceof Readable ? Readable.toWeb(pipeline(body, new PassThrough(), () => {})) : body;
  return new Response(isBodiless ? null : (content as ConstructorParameters<typeof Response>[0]), {
    status: response.status,
    headers,
  });
}
