import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP, SocketAddress } from "node:net";
import type { Readable } from "node:stream";

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
  /** Asks for the body when the client waits to be asked (RFC 9110, 10.1.1). */
  sendContinue(): void;
  /** The service's own request, not one from a socket. */
  isOwn: boolean;
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
  // Sockets give their peer in this form already: the common case costs nothing.
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const { address: written } = new SocketAddress({ address, family: "ipv6" });
  return MAPPED.exec(written)?.[1] ?? written;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
