import { isIP } from "node:net";

const MAPPED_PREFIX = "::ffff:";
/** Some proxies add the port they saw: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** The address that failures are counted under: without a port, IPv4 forms made one, `unknown` for what is no address. */
export function toClient(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const bare = withoutMapping(address.toLowerCase());
  if (isIP(bare)) return bare;
  const [, v6, v4] = WITH_PORT.exec(bare) ?? [];
  const host = withoutMapping(v6 ?? v4 ?? "");
  return isIP(host) ? host : "unknown";
}

/** A dual-stack socket shows IPv4 clients as `::ffff:192.0.2.1`. */
function withoutMapping(address: string): string {
  const tail = address.startsWith(MAPPED_PREFIX) ? address.slice(MAPPED_PREFIX.length) : "";
  return isIP(tail) === 4 ? tail : address;
}
