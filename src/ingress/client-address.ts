import { BlockList, isIP, SocketAddress } from "node:net";

/** Some proxies add the port they saw: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** A dual-stack socket shows IPv4 clients as `::ffff:192.0.2.1`. */
const MAPPED = /^::ffff:([\d.]+)$/;

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
