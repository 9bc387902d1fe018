import { BlockList, isIP } from "node:net";
import { error, type Finding } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";

/** A trusted proxy is an IP address or a range of them in CIDR notation. */
export function checkGateway({ gateway }: ResolvedConfig): Finding[] {
  return gateway.trustedProxies.flatMap((entry, index) =>
    isAddress(entry) || isRange(entry)
      ? []
      : error(`gateway.trustedProxies[${index}]`, "must be an IP address or a CIDR range such as 10.0.0.0/8"),
  );
}

function isAddress(entry: string): boolean {
  return isIP(entry) !== 0;
}

function isRange(entry: string): boolean {
  const [, network = "", prefix] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? [];
  try {
    new BlockList().addSubnet(network, Number(prefix), isIP(network) === 6 ? "ipv6" : "ipv4");
    return true;
  } catch {
    return false;
  }
}
