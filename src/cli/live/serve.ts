import type { Command } from "commander";
import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { packageVersion } from "../../config/package.ts";
import type { HooklineService } from "../../hookline.ts";
import type { Program } from "../../program/build.ts";
import { BUILT_IN_HOOKS } from "../../types.ts";
import { CONFIG_HELP, toPort } from "../command.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, style } from "../io.ts";
import { createLiveView } from "./view.ts";

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
  const follower = io.stdout.isTTY ? createLiveView(io, (id) => hookline.event(id)) : undefined;
  const file = locateConfig(config, io);
  const hookline: HooklineService = await createHookline({ config: file, env: io.env, host, port, follower });
  try {
    const { url } = await hookline.listen();
    // Before the lines that announce it: a signal may come from then on.
    const stopped = once(io.stopSignal(), "abort");
    print(io, `Hookline ${packageVersion()}, configured by ${file}`);
    if (io.stdout.isTTY) print(io, ...describeProgram(hookline.program(), url));
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

/** What it serves, which agent answers, and whether the operator's side is on. */
function describeProgram({ config, mappings }: Program, url: string): string[] {
  const { hooks, agents, gateway } = config;
  const urls = mappings.mappings.map(({ source, match }) => [
    match.path === undefined ? `${url}${hooks.path}/<any name>` : `${url}${hooks.path}/${match.path}`,
    style("dim", source.id),
  ]);
  const builtIn = BUILT_IN_HOOKS.map((hook) => [`${url}${hooks.path}/${hook}`]);
  const providers = Object.keys(agents.providers).join(", ");
  const operator = "webhooks events list, sessions list, runs list";
  return [
    ...block(
      "Hooks",
      hooks.enabled ? [...urls, ...builtIn].map((row) => row.join("  ")) : ["off: set hooks.enabled to true"],
    ),
    ...block("Agent", [
      providers === ""
        ? "echo, a placeholder that repeats its prompt: set agents.providers to use a model"
        : `${agents.model ?? "no default model"} (${providers})`,
    ]),
    ...block("Operator", [gateway.token ? operator : `off without gateway.auth.token: /api, ${operator}`]),
  ];
}

/** The lines beside their title. */
function block(title: string, lines: string[]): string[] {
  return lines.map((line, index) => `${(index === 0 ? title : "").padEnd(10)}${line}`);
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
