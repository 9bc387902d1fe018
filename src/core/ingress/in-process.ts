import { PassThrough, pipeline, Readable } from "node:stream";
import { untilAborted } from "../shared/time.ts";
import { createId } from "../shared/id.ts";
import type { HttpResponse } from "../types.ts";
import { ClientGone } from "./body.ts";
import { type ClientResolver, type Exchange, toWire } from "./exchange.ts";

/** Serves a web-standard request without a socket. Rejects when the request is aborted or its body breaks off. */
export async function handleInProcess(
  request: Request,
  answer: (exchange: Exchange) => Promise<HttpResponse>,
  clientOf: ClientResolver,
): Promise<Response> {
  const exchange = toExchange(request, clientOf);
  // The reader of the body gets its errors. Without a listener here, they would end the process.
  exchange.body.on("error", () => {});
  try {
    return toResponse(exchange, await untilAborted(answer(exchange), request.signal));
  } catch (error) {
    throw error instanceof ClientGone ? (error.cause ?? error) : error;
  } finally {
    // After the answer the rest of the body is not needed: this tells its source to stop.
    exchange.body.destroy();
  }
}

function toExchange(request: Request, clientOf: ClientResolver): Exchange {
  const { pathname, search, host } = new URL(request.url);
  const headers = { host, ...Object.fromEntries(request.headers) };
  return {
    id: createId(),
    method: request.method,
    path: pathname,
    search: search.slice(1),
    headers,
    rawHeaders: Object.entries(headers).flat(),
    client: clientOf("127.0.0.1", request.headers.get("x-forwarded-for") ?? undefined),
    body: request.body ? Readable.fromWeb(request.body) : Readable.from([]),
    sendContinue() {},
    isOwn: true,
    answerHeaders: {},
  };
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
