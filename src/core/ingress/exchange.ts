import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { BlockList, isIP, type Socket, SocketAddress } from "node:net";
import { pipeline, Readable } from "node:stream";
import { HookError, toHookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { type Log, silentLog } from "../telemetry/log.ts";
import type { HttpResponse, Receipt } from "../types.ts";

/** `import` would also load Node's `fetch` and WebSocket, which no hook needs: a tenth of a start. */
export const http = process.getBuiltinModule("node:http");

/** Some proxies add the port they saw: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** A dual-stack socket shows IPv4 clients as `::ffff:192.0.2.1`. */
const MAPPED = /^::ffff:([\d.]+)$/;

/** One HTTP request, from a socket or in process. */
export interface Exchange {
  /** UUIDv7. */
  id: string;
  method: string;
  /** Percent-encoded as it was sent, without the query. */
  path: string;
  /** The query without its `?`. */
  search: string;
  /** Why the head cannot be accepted, in a sentence. */
  malformed?: string;
  headers: IncomingHttpHeaders;
  /** Name, value, name, value … as they came. */
  rawHeaders: readonly string[];
  /** The client's address, as `createClientResolver` gives it. */
  client: string;
  body: Readable;
  /** Its bytes, once somebody has begun to read them. */
  received?: Promise<Buffer>;
  /** Asks for the body when the client waits to be asked (RFC 9110, 10.1.1). */
  sendContinue(): void;
  /** The service's own request, not one from a socket. */
  isOwn: boolean;
  /** Added to every answer to this request, errors included. */
  answerHeaders: Record<string, string>;
}

/** The bytes of a body that somebody else has read. */
export function rejectReadBody(): Promise<never> {
  const message = "The body was read before Hookline got the request. Put Hookline before the body parser.";
  const received = Promise.reject(new Error(message));
  // A request that is refused by its head never asks for its body.
  received.catch(() => {});
  return received;
}

/** Splits a request target into its path and query. */
export function splitTarget(target: string): { path: string; search: string } {
  const url = toOriginForm(target);
  const mark = url.indexOf("?");
  return mark === -1 ? { path: url, search: "" } : { path: url.slice(0, mark), search: url.slice(mark + 1) };
}

/** RFC 9112, 3.2.2: a server must also accept `POST http://host/path HTTP/1.1`. */
function toOriginForm(target: string): string {
  if (target[0] === "/") return target;
  const authority = target.indexOf("://");
  const path = authority === -1 ? -1 : target.indexOf("/", authority + 3);
  return path === -1 ? target : target.slice(path);
}

/** Finds the client of a request from its peer's address and its `X-Forwarded-For` header. */
export type ClientResolver = (peer: string | undefined, forwarded: string | undefined) => string;

/**
 * The client is the last address that is not a trusted proxy: only a trusted proxy's word about who sent the request
 * counts. `trustedProxies` are addresses and CIDR ranges.
 */
export function createClientResolver(trustedProxies: string[]): ClientResolver {
  const trusted = new BlockList();
  for (const entry of trustedProxies) {
    const [network = "", prefix] = entry.split("/");
    if (prefix === undefined) trusted.addAddress(network, familyOf(network));
    else trusted.addSubnet(network, Number(prefix), familyOf(network));
  }

  return (peer, forwarded) => {
    let client = toClient(peer);
    if (trustedProxies.length === 0 || forwarded === undefined) return client;
    for (const hop of forwarded.split(",").toReversed()) {
      if (!trusted.check(client, familyOf(client))) break;
      client = toClient(hop.trim());
    }
    return client;
  };
}

/** An address without its port and in one form for all its spellings; `unknown` for anything else. */
export function toClient(address: string | undefined): string {
  if (address === undefined) return "unknown";
  if (isIP(address)) return canonical(address);
  const [, v6, v4] = WITH_PORT.exec(address) ?? [];
  const host = v6 ?? v4 ?? "";
  return isIP(host) ? canonical(host) : "unknown";
}

function canonical(address: string): string {
  if (isIP(address) === 4) return address;
  const { address: written } = new SocketAddress({ address, family: "ipv6" });
  return MAPPED.exec(written)?.[1] ?? written;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** How long a client may be silent that sends on after its answer, and how much it may still send. */
const LINGER_IDLE_MS = 1_000;
const LINGER_BYTES = 64 * 1024 * 1024;
/** How long a client may take in all to read such an answer. One that was too slow already gets less time. */
const LINGER_MS = 30_000;
const SLOW_LINGER_MS = 2_000;

/** The answer to a request that the journal has committed. */
export function receiptToResponse({ eventId, actions, warnings, replayed }: Receipt): HttpResponse {
  const headers: Record<string, string> = replayed ? { "Idempotency-Replayed": "true" } : {};
  const [first] = actions;
  if (!first) return { status: 204, headers };
  const status = actions.some(({ kind }) => kind === "agent") ? 202 : 200;
  const shownWarnings = warnings.length > 0 ? warnings : undefined;
  if (actions.length > 1) {
    const runIds = actions.flatMap(({ runId }) => runId ?? []);
    return { status, headers, body: { ok: true, actions, runIds, eventId, warnings: shownWarnings } };
  }
  const { mode, runId, sessionKey, coalesced } = first;
  const body = { ok: true, mode, runId, sessionKey, coalesced, eventId, warnings: shownWarnings };
  return { status, headers, body };
}

/** The answer to an error. An unexpected error is logged whole, and its answer reveals nothing. */
export function errorToResponse(error: unknown, requestId: string, log: Log): HttpResponse {
  const { status, headers, message, code } = toHookError(error);
  if (code === "internal_error") {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error("a request failed", { requestId, error: stack });
  }
  return { status, headers, body: { ok: false, error: message, code, requestId } };
}

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
    discardRest(res.req, () => res.end(), response.status === 408 ? SLOW_LINGER_MS : LINGER_MS);
  } else res.end(body);
}

/** The response with all its headers and its body as it is sent. */
export function toWire(
  { id, answerHeaders }: Pick<Exchange, "id" | "answerHeaders">,
  response: HttpResponse,
): { headers: Record<string, string>; body: string | Buffer | Readable | undefined } {
  // Without it, a browser could take an answer that a mapping makes for another type.
  const own = { "X-Content-Type-Options": "nosniff", "X-Request-Id": id };
  const headers: Record<string, string> = { ...answerHeaders, ...response.headers, ...own };
  const { body } = response;
  if (body === undefined || body instanceof Readable) return { headers, body };
  if (Buffer.isBuffer(body)) return { headers, body };
  const text = JSON.stringify(body);
  headers["Content-Type"] = "application/json; charset=utf-8";
  headers["Content-Length"] = String(Buffer.byteLength(text));
  return { headers, body: text };
}

/** Reads a body that nobody needs, until it ends, is silent or is too long. */
export function discardRest(body: Readable, done: () => void, maxMs = LINGER_MS): void {
  let discarded = 0;
  const idle = setTimeout(stop, LINGER_IDLE_MS).unref();
  const total = setTimeout(stop, maxMs).unref();

  function onData(chunk: Buffer): void {
    idle.refresh();
    discarded += chunk.length;
    if (discarded > LINGER_BYTES) stop();
  }
  function stop(): void {
    clearTimeout(idle);
    clearTimeout(total);
    body.off("data", onData).off("end", stop).off("close", stop);
    done();
  }

  body.on("data", onData).on("end", stop).on("close", stop).resume();
}

/**
 * Answers bytes that are not an HTTP request, then closes the connection. `newest` gives the connection's latest
 * response.
 */
export function createClientErrorHandler(
  newest: (socket: Socket) => ServerResponse | undefined,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
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
  const timer = setTimeout(() => socket.destroy(), SLOW_LINGER_MS);
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
  return [`HTTP/1.1 ${response.status} ${http.STATUS_CODES[response.status]}`, ...lines, "", text].join("\r\n");
}
