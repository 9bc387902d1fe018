import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";

/** One HTTP request, from a socket or in process. */
export interface Exchange {
  /** UUIDv7. */
  id: string;
  method: string;
  /** Percent-encoded as it was sent, without the query. */
  path: string;
  /** The query without its `?`. */
  search: string;
  /** `1.1` */
  httpVersion: string;
  headers: IncomingHttpHeaders;
  /** The client's address, as `createClientResolver` gives it. */
  client: string;
  body: Readable;
  /** Asks for the body when the client waits to be asked (RFC 9110, 10.1.1). */
  sendContinue(): void;
  /** Added to every answer to this request, errors included. */
  answerHeaders: Record<string, string>;
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
