import type { Command } from "commander";
import { once } from "node:events";
import { packageVersion } from "../../config/package.ts";
import { CONFIG_HELP, toPort } from "../command.ts";
import { locateConfig } from "../context.ts";
import { type CliIo, print } from "../io.ts";

interface ServeFlags {
  config?: string;
  host?: string;
  port?: number;
}

export function addServe(program: Command, io: CliIo): void {
  program
    .command("serve")
    .description("Serve the hooks and execute what they ask for.")
    .option("--config <file>", CONFIG_HELP)
    .option("--host <address>", "address to listen on (default: gateway.host)")
    .option("--port <number>", "port to listen on; 0 takes a free one (default: gateway.port)", toPort)
    .action((flags: ServeFlags) => serve(flags, io));
}

/** Serves until the stop signal, then finishes what is in flight. */
async function serve({ config, host, port }: ServeFlags, io: CliIo): Promise<void> {
  // Only this command needs the server and the journal: the others start faster without them.
  const { createHookline } = await import("../../hookline.ts");
  const hookline = await createHookline({ config: locateConfig(config, io), env: io.env, host, port });
  try {
    const { url } = await hookline.listen();
    // Before the lines that announce it: a signal may come from then on.
    const stopped = once(io.stopSignal(), "abort");
    print(io, `Hookline ${packageVersion()}, configured by ${hookline.program().config.file}`);
    print(io, `Listening on ${url}`);
    await stopped;
  } finally {
    await hookline.close();
  }
}
