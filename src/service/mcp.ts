import { HookError } from "../errors.ts";
import type { Routes } from "../ingress/router.ts";
import { createAuditList, type AuditList } from "../mcp/audit.ts";
import type { Room } from "../mcp/room.ts";
import type { Runtime } from "../runtime/build.ts";
import type { Execution } from "./execution.ts";
import type { Parts } from "./parts.ts";

/** The MCP endpoint, which is loaded at its first use. */
export interface Mcp {
  routes: Routes;
  audit: Pick<AuditList, "list">;
  /** `executes`: this node may number and deliver. */
  use(runtime: Runtime, options: { executes: boolean }): void;
  stop(): Promise<void>;
}

/** `execution`: it is made later. */
export function createMcp({ journal, current, store, telemetry: { log } }: Parts, execution: () => Execution): Mcp {
  const audit = createAuditList();
  let opening: Promise<Room> | undefined;
  let isStarted = false;

  return {
    routes: {
      "* /mcp": async (request) => (await require()).serve(request),
      "GET /.well-known/oauth-protected-resource/mcp": async () => (await require()).serveMetadata(),
      "GET /.well-known/oauth-protected-resource": async () => (await require()).serveMetadata(),
    },
    audit,
    use({ config }, { executes }) {
      if (isStarted) void opening?.then((room) => room.wake());
      else if (config.gateway.mcp && executes) {
        isStarted = true;
        open().then(
          (room) => room.start(),
          (error: unknown) => log.error("the MCP endpoint cannot be opened", { error: String(error) }),
        );
      }
    },
    async stop() {
      await opening?.then(
        (room) => room.stop(),
        () => undefined,
      );
    },
  };

  function require(): Promise<Room> {
    if (current().config.gateway.mcp) return open();
    throw new HookError("not_found", { message: "There is no such path." });
  }

  function open(): Promise<Room> {
    opening ??= load().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  async function load(): Promise<Room> {
    const { openRoom } = await import("../mcp/room.ts");
    const alerts = { raise: execution().alerts.raise };
    return openRoom({ journal, current, alerts, log, audit, storePath: store.path });
  }
}
