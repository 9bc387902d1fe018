import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { packageVersion } from "../config/package.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { NodeInfo } from "../journal/journal.ts";

/** What the nodes that share a store show of each other. */
export function describeNode(config: ResolvedConfig, startedAt: string): NodeInfo {
  return {
    role: config.gateway.role,
    host: hostname(),
    version: packageVersion(),
    config: digestOf(config),
    startedAt: Date.parse(startedAt),
  };
}

/** The same on all nodes that would do the same with a request. Places on the node's own machine do not count. */
function digestOf({
  baseDir,
  gateway: { host: _host, port: _port, role: _role, ...gateway },
  ...config
}: ResolvedConfig): string {
  const { file: _file, store: _store, log: _log, ...rest } = config;
  const text = JSON.stringify({ ...rest, gateway }).replaceAll(JSON.stringify(baseDir).slice(1, -1), "");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
