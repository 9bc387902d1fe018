import type { Command } from "commander";
import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { packageVersion } from "../../config/package.ts";
import { CONFIG_HELP, toPort } from "../command.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
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
  const { CLOSE_MS, createHookline } = await import("../../hookline.ts");
  const hookline = await createHookline({ config: locateConfig(config, io), env: io.env, host, port });
  try {
    const { url } = await hookline.listen();
    // Before the lines that announce it: a signal may come from then on.
    const stopped = once(io.stopSignal(), "abort");
    print(io, `Hookline ${packageVersion()}, configured by ${hookline.program().config.file}`);
    print(io, `Listening on ${url}`, ...otherUrls(hookline.program().config.gateway.host, url));
    await stopped;
    const waitsFor = describeWork(hookline.inFlight());
    const advice = "Ctrl-C again to stop now; what has not ended runs again at the next start.";
    if (waitsFor) print(io, `Finishing ${waitsFor}, up to ${CLOSE_MS / 1000} s. ${advice}`);
  } finally {
    await hookline.close();
  }
}

/** `1 turn and 2 messages`; empty if nothing is in flight. */
function describeWork({ turns, deliveries }: { turns: number; deliveries: number }): string {
  const counts = [turns > 0 && formatCount(turns, "turn"), deliveries > 0 && formatCount(deliveries, "message")];
  return counts.filter(Boolean).join(" and ");
}

/** For a service on all addresses: the URLs by which other machines reach it. */
function otherUrls(host: string, url: string): string[] {
  const families = { "0.0.0.0": ["IPv4"], "::": ["IPv4", "IPv6"] }[host] ?? [];
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal, address }) => !internal && families.includes(family) && !address.startsWith("fe80:"))
    .map(({ family, address }) => {
      const reachable = new URL(url);
      reachable.hostname = family === "IPv6" ? `[${address}]` : address;
      return `             ${reachable.origin}`;
    });
}
