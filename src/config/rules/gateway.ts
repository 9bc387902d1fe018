import { BlockList, isIP } from "node:net";
import type { ResolvedConfig } from "../types.ts";
import { error, type Finding, warning } from "./finding.ts";

/** A trusted proxy is an IP address or a range of them in CIDR notation. */
export function checkGateway({ gateway }: ResolvedConfig): Finding[] {
  return gateway.trustedProxies.flatMap((entry, index) =>
    isIP(entry) !== 0 || isRange(entry)
      ? []
      : error(`gateway.trustedProxies[${index}]`, "must be an IP address or a CIDR range such as 10.0.0.0/8"),
  );
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

/** Hooks that are described are on, and the operator can see what becomes of them. */
export function checkEnabled({ gateway, hooks }: ResolvedConfig): Finding[] {
  if (hooks.enabled && !gateway.token) {
    return [warning("gateway.auth.token", "is not set, so /api and the operator's commands are off")];
  }
  if (hooks.enabled || hooks.mappings.length === 0) return [];
  return [warning("hooks.enabled", "is not true, so every hook answers 404: set hooks.enabled to true")];
}

/** Paths that the service answers itself. */
const RESERVED_PATHS = ["/api", "/healthz", "/readyz", "/metrics", "/mail/push"];

/** Only characters that no client or proxy encodes in another way. */
const SEGMENTS = /^(\/[A-Za-z0-9._~-]+)+$/;

/** Requests to hooks can be told from all others that the service answers. */
export function checkHooksPath({ hooks }: ResolvedConfig): Finding[] {
  const message = findPathProblem(hooks.path);
  return message === undefined ? [] : [error("hooks.path", message)];
}

function findPathProblem(path: string): string | undefined {
  if (path === "/") return 'must not be "/": every path would be a hook; use one like "/hooks"';
  if (!SEGMENTS.test(path)) return "must consist of /segments of letters, digits, - . _ and ~";
  if (path.split("/").some((segment) => segment === "." || segment.includes(".."))) {
    return 'must not contain ".." or a segment "."';
  }
  const reserved = RESERVED_PATHS.find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  return reserved && `must not be or lie under ${reserved}, which the service answers itself`;
}
