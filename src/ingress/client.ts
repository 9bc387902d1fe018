import { isIP, SocketAddress } from "node:net";

/** Some proxies add the port they saw: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** A dual-stack socket shows IPv4 clients as `::ffff:192.0.2.1`. */
const MAPPED = /^::ffff:([\d.]+)$/;

/**
 * The address that failures are counted under: without a port, all forms of one address made one, an IPv4 one its own,
 * `unknown` for what is no address.
 */
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
