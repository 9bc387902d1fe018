import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { Socket } from "node:net";
import { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import type { HookResponse } from "../types.ts";
import type { Exchange } from "./exchange.ts";
import { errorToResponse } from "./respond.ts";

/** How long a client that has been told to stop may be silent, and how much it may still send. */
const LINGER_IDLE_MS = 1_000;
const LINGER_BYTES = 64 * 1024 * 1024;

/** Writes an answer. One with `Connection: close` reaches also a client that is still sending. */
export function writeResponse(exchange: Exchange, response: HookResponse): void {
  const { id, req, res } = exchange;
  if (res.destroyed) return;
  const body = response.body === undefined ? undefined : JSON.stringify(response.body);
  res.writeHead(response.status, { ...response.headers, "X-Request-Id": id, ...describe(body) });
  const closesEarly = response.headers["Connection"] === "close" && isStillSent(req);
  if (!closesEarly || body === undefined) {
    res.end(body);
    return;
  }
  // Closing while bytes come in makes the kernel reset the connection, and the answer is lost with it.
  res.write(body);
  discardRest(req, () => res.end());
}

function describe(body: string | undefined): Record<string, string | number> {
  if (body === undefined) return {};
  return { "Content-Type": "application/json; charset=utf-8", "Content-Length": Buffer.byteLength(body) };
}

/** In process nothing is sent: there is no connection that could be reset. */
function isStillSent(req: IncomingMessage): boolean {
  return !req.complete && req.socket instanceof Socket;
}

/** Who sends on and on, ever so slowly, is ended by the server's `requestTimeout`. */
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

/** How long a client that was refused may take to read the answer while it still sends. */
const LINGER_MS = 2_000;

type ClientErrorHandler = (error: NodeJS.ErrnoException, socket: Socket) => void;

/** Answers bytes that are no HTTP request, then closes the connection. `newest` gives the answer begun last on it. */
export function createClientErrorHandler(newest: (socket: Socket) => ServerResponse | undefined): ClientErrorHandler {
  /** The parser reports every further piece of a broken stream again. */
  const refused = new WeakSet<Socket>();

  return function handleClientError(error, socket): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    const answer = newest(socket);
    const isBodyBroken = answer !== undefined && !answer.req.complete;
    // A second answer to the same request would be taken for the answer to the next one.
    if (!socket.writable || (isBodyBroken && answer.headersSent)) socket.destroy();
    // The request before the broken bytes was whole: it gets its own answer first.
    else if (answer && !isBodyBroken && !answer.writableFinished) answer.once("close", () => refuse(socket, error));
    else refuse(socket, error);
  };
}

function refuse(socket: Socket, error: NodeJS.ErrnoException): void {
  if (!socket.writable) return;
  socket.end(toRawResponse(toHookError(error)));
  // Closing while bytes come in makes the kernel reset the connection, and the answer is lost with it.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

function toHookError({ code }: NodeJS.ErrnoException): HookError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new HookError("headers_too_large");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new HookError("body_too_large", { message: "The body's chunk extensions are too large." });
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new HookError("request_timeout");
    default:
      return new HookError("bad_request");
  }
}

function toRawResponse(error: HookError): string {
  const requestId = createId();
  const { status, body } = errorToResponse(error, requestId);
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Connection: close",
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${requestId}`,
    "",
    text,
  ].join("\r\n");
}
