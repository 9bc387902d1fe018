import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { pipeline, Readable } from "node:stream";
import { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { silentLog } from "../telemetry/log.ts";
import type { HttpResponse } from "../types.ts";
import type { Exchange } from "./exchange.ts";
import { errorToResponse } from "./respond.ts";

/** How long a client that has been told to stop may be silent, and how much it may still send. */
const LINGER_IDLE_MS = 1_000;
const LINGER_BYTES = 64 * 1024 * 1024;

/** Writes a response. One with `Connection: close` also reaches a client that is still sending. */
export function writeResponse(exchange: Exchange, response: HttpResponse, res: ServerResponse): void {
  const { headers, body } = toWire(exchange, response);
  if (res.destroyed) {
    if (body instanceof Readable) body.destroy();
    return;
  }
  res.writeHead(response.status, headers);
  if (body instanceof Readable) pipeline(body, res, () => {});
  else if (body !== undefined && headers["Connection"] === "close" && !res.req.complete) {
    // Closing while bytes come in makes the kernel reset the connection, and the answer is lost with it.
    res.write(body);
    discardRest(res.req, () => res.end());
  } else res.end(body);
}

interface WireResponse {
  headers: Record<string, string>;
  body: string | Readable | undefined;
}

/** The response with all its headers and its body as text. */
export function toWire(
  { id, answerHeaders }: Pick<Exchange, "id" | "answerHeaders">,
  response: HttpResponse,
): WireResponse {
  const headers: Record<string, string> = { ...answerHeaders, ...response.headers, "X-Request-Id": id };
  if (response.body === undefined || response.body instanceof Readable) return { headers, body: response.body };
  const body = JSON.stringify(response.body);
  headers["Content-Type"] = "application/json; charset=utf-8";
  headers["Content-Length"] = String(Buffer.byteLength(body));
  return { headers, body };
}

/** A client that sends on very slowly is stopped by the server's `requestTimeout`. */
function discardRest(req: IncomingMessage, done: () => void): void {
  let discarded = 0;
  const timer = setTimeout(stop, LINGER_IDLE_MS);

  function onData(chunk: Buffer): void {
    timer.refresh();
    discarded += chunk.length;
    if (discarded > LINGER_BYTES) stop();
  }
  function stop(): void {
    clearTimeout(timer);
    req.off("data", onData).off("end", stop).off("close", stop);
    done();
  }

  req.on("data", onData).on("end", stop).on("close", stop).resume();
}

/** How long a client may take to read the answer while it still sends. */
const LINGER_MS = 2_000;

type ClientErrorHandler = (error: NodeJS.ErrnoException, socket: Socket) => void;

/**
 * Answers bytes that are not an HTTP request, then closes the connection. `newest` gives the connection's latest
 * response.
 */
export function createClientErrorHandler(newest: (socket: Socket) => ServerResponse | undefined): ClientErrorHandler {
  /** The parser reports each further piece of a broken stream again. */
  const refused = new WeakSet<Socket>();

  return function handleClientError(error, socket): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    const answer = newest(socket);
    const isBodyBroken = answer !== undefined && !answer.req.complete;
    // The client would take a second answer to this request for the answer to its next one.
    if (!socket.writable || (isBodyBroken && answer.headersSent)) socket.destroy();
    // The request before the broken bytes was complete: it gets its own answer first.
    else if (answer && !isBodyBroken && !answer.writableFinished) answer.once("close", () => refuse(socket, error));
    else refuse(socket, error);
  };
}

function refuse(socket: Socket, error: NodeJS.ErrnoException): void {
  if (!socket.writable) return;
  socket.end(toRawResponse(error));
  // Closing while bytes come in makes the kernel reset the connection, and the answer is lost with it.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

/** By the codes of Node's errors. */
const CLIENT_ERRORS: Record<string, HookError> = {
  HPE_HEADER_OVERFLOW: new HookError("headers_too_large"),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new HookError("body_too_large", {
    message: "The body's chunk extensions are too large.",
  }),
  ERR_HTTP_REQUEST_TIMEOUT: new HookError("request_timeout"),
};

function toRawResponse({ code = "" }: NodeJS.ErrnoException): string {
  const id = createId();
  const response = errorToResponse(CLIENT_ERRORS[code] ?? new HookError("bad_request"), id, silentLog);
  const { headers, body } = toWire({ id, answerHeaders: { Connection: "close" } }, response);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = typeof body === "string" ? body : "";
  return [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}`, ...lines, "", text].join("\r\n");
}
