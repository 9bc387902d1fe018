import type { ResolvedConfig } from "../config/resolved.ts";

/** Where a running service is called: one that listens on every address, on the loopback one. */
export function serviceAddress({ host, port }: ResolvedConfig["gateway"]): string {
  const reachable = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
