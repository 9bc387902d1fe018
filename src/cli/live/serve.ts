import { setImmediate } from "node:timers/promises";
import type { Command } from "commander";
import { findConfigFile } from "../../core/config/load.ts";
import type { NodeRole } from "../../core/config/resolved-config.ts";
import { readRegularFile } from "../../core/shared/system/files.ts";
import { startFirstChild } from "../../core/transforms/sandbox/prepare.ts";
import { CONFIG_HELP, toOneOf, toPort } from "../command.ts";
import type { CliIo } from "../io.ts";
import type { ServeOptions } from "./service.ts";

export interface ServeFlags {
  config?: string;
  host?: string;
  port?: number;
  role?: NodeRole;
  upgradeStore?: boolean;
}

export function addServe(program: Command, io: CliIo): void {
  addServeOptions(program.command("serve").description("Serve the hooks and execute their runs."))
    .option("--json", "print one JSON object for each request", false)
    .action(({ json, ...flags }: ServeFlags & { json: boolean }) => serve(flags, io, json ? { show: "json" } : {}));
}

export function addServeOptions(command: Command): Command {
  return command
    .option("--config <file>", CONFIG_HELP)
    .option("--host <address>", "address to listen on (default: gateway.host)")
    .option("--port <number>", "port to listen on; 0 takes a free one (default: gateway.port)", toPort)
    .option(
      "--role <role>",
      "all, ingress or worker: what this node does, with store.url (default: gateway.role)",
      toOneOf(["all", "ingress", "worker"]),
    )
    .option("--upgrade-store", "change tables that an earlier version made in the database of store.url");
}

/** Serves until the stop signal, then finishes what is in flight. */
export async function serve({ config, ...flags }: ServeFlags, io: CliIo, options: ServeOptions = {}): Promise<void> {
  const file = findConfigFile({ flag: config, env: io.env, cwd: io.cwd });
  if (!io.pool && mentionsTransform(file)) {
    void startFirstChild();
    // Loading the service blocks the process: the child has to be on its way before.
    await setImmediate();
  }
  // The other commands start faster without the server and the journal.
  const { runService } = await import("./service.ts");
  await runService(file, flags, io, options);
}

const MAX_READ_BYTES = 1024 * 1024;

/** Judges by the text. A wrong guess costs time, or starts a process that is ended again. */
function mentionsTransform(file: string): boolean {
  try {
    return /\btransform["']?\s*:/.test(readRegularFile(file, MAX_READ_BYTES).toString("utf8"));
  } catch {
    return false;
  }
}
