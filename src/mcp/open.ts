import type { Alerts } from "../core/dispatch/alerts.ts";
import { haveOtherConfigurations, retryWhileUnavailable } from "../core/dispatch/retry.ts";
import { HookError } from "../core/errors.ts";
import type { Routes } from "../core/ingress/router.ts";
import { createAuditList } from "./audit.ts";
import type { AuditList } from "../core/ports/audit.ts";
import type { McpServer } from "./server.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { Journal } from "../core/journal/journal.ts";
import { once } from "../core/shared/once.ts";

/** The MCP endpoint, which is loaded at its first use. */
export interface Mcp {
  routes: Routes;
  audit: Pick<AuditList, "list">;
  /** `executes`: this node may number and deliver. */
  use(runtime: Runtime, options: { executes: boolean }): void;
  stop(): Promise<void>;
}

interface McpOptions {
  journal: Journal;
  current(): Runtime;
  /** The state folder, which holds the key if the configuration has none. */
  store: { path: string };
  telemetry: { log: Log };
}

/** `alerts`: they are made later. */
export function createMcp({ journal, current, store, telemetry: { log } }: McpOptions, alerts: () => Alerts): Mcp {
  const audit = createAuditList();
  const stopping = new AbortController();
  const open = once(load);
  let server: McpServer | undefined;
  let executes = false;
  let opening: Promise<void> | undefined;

  return {
    routes: {
      "* /mcp": async (request) => (await require()).serve(request),
      "GET /.well-known/oauth-protected-resource/mcp": async () => (await require()).serveMetadata(),
      "GET /.well-known/oauth-protected-resource": async () => (await require()).serveMetadata(),
    },
    audit,
    use({ config }, node) {
      executes = node.executes;
      if (server) server.wake();
      else if (config.gateway.mcp && executes) opening ??= openWhenAvailable().finally(() => (opening = undefined));
    },
    async stop() {
      stopping.abort();
      await server?.stop();
    },
  };

  async function openWhenAvailable(): Promise<void> {
    try {
      await retryWhileUnavailable(open, { log, signal: stopping.signal });
    } catch (error) {
      if (!stopping.signal.aborted) log.error("the MCP endpoint cannot be opened", { error: String(error) });
    }
  }

  function require(): Promise<McpServer> {
    if (current().config.gateway.mcp) return open();
    throw new HookError("not_found", { message: "There is no such path." });
  }

  async function load(): Promise<McpServer> {
    const { openMcpServer } = await import("./server.ts");
    server = await openMcpServer({
      journal,
      current,
      alerts: alerts(),
      log,
      audit,
      storePath: store.path,
      haveOtherConfigurations: () => haveOtherConfigurations({ journal, signal: stopping.signal }),
    });
    if (stopping.signal.aborted) await server.stop();
    else if (executes) server.start();
    return server;
  }
}
