import { STATUS_CODES } from "node:http";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { HookError } from "../errors.ts";
import { createId } from "../create-id.ts";
import { errorToResponse } from "./respond.ts";

/** How long a client that was refused may take to read the answer while it still sends. */
const LINGER_MS = 2_000;

type ClientErrorHandler = (error: NodeJS.ErrnoException, socket: Socket) => void;

/** Answers bytes that are no HTTP request, then closes the connection. `newest` gives the answer begun last on it. */
export function createClientErrorHandler(
  newest: (socket: Socket) => ServerResponse | undefined,
): ClientErrorHandler {
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
    else if (answer && !isBodyBroken && !answer.writableFinished)
      answer.once("close", () => refuse(socket, error));
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
      return new HookError(431, "headers_too_large", "The request's headers are too large.");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new HookError(413, "body_too_large", "The body's chunk extensions are too large.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new HookError(408, "request_timeout", "The request did not arrive in time.");
    default:
      return new HookError(400, "bad_request", "This is not a valid HTTP request.");
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
