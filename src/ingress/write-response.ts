import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { HookResponse } from "../types.ts";
import type { Exchange } from "./exchange.ts";

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
