import { BlockList, isIP } from "node:net";
import { error, type Finding } from "../finding.ts";
import type { ResolvedConfig } from "../types.ts";

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

/** Paths that the service answers itself. */
const TAKEN = ["/api", "/healthz", "/readyz", "/metrics"];

/**
 * Only characters that reach the service as they were written, whatever client or proxy they went through.
 */
const SEGMENTS = /^(\/[A-Za-z0-9._~-]+)+$/;

/**
 * The prefix of all hooks, its trailing slash already gone, can be told from everything else the service
 * answers.
 */
export function checkHooksPath({ hooks }: ResolvedConfig): Finding[] {
  const problem = describe(hooks.path);
  return problem === undefined ? [] : [error("hooks.path", problem)];
}

function describe(path: string): string | undefined {
  if (path === "") return 'must not be "/": every path would be a hook; take one like "/hooks"';
  if (!SEGMENTS.test(path)) return "must be made of /segments of letters, digits, - . _ and ~";
  if (path.split("/").some((segment) => segment === "." || segment.includes(".."))) {
    return 'must not hold ".." nor a segment "."';
  }
  const taken = TAKEN.find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  return taken && `must not be or lie under ${taken}, which the service answers itself`;
}
