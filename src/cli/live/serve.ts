import type { Command } from "commander";
import { once } from "node:events";
import { packageVersion } from "../../config/package.ts";
import type { HooklineService } from "../../hookline.ts";
import { CONFIG_HELP, toOneOf, toPort } from "../command.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print } from "../io.ts";
import { describeProgram, otherUrls } from "./announce.ts";
import type { NodeRole } from "../../config/types.ts";
import { createLiveView, type LiveView } from "./view.ts";

export interface ServeFlags {
  config?: string;
  host?: string;
  port?: number;
  role?: NodeRole;
}

export function addServe(program: Command, io: CliIo): void {
  addServeOptions(program.command("serve").description("Serve the hooks and execute what they ask for."))
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
    );
}

export interface ServeOptions {
  /** Whether to show each request, and how. Default: lines on a terminal, else not at all. */
  show?: "lines" | "json";
  /** Called once it listens; the result, before it stops. */
  onListening?(service: HooklineService, view: LiveView, url: string): () => void;
}

/** Serves until the stop signal, then finishes what is in flight. */
export async function serve(
  { config, host, port, role }: ServeFlags,
  io: CliIo,
  options: ServeOptions = {},
): Promise<void> {
  // Only these commands need the server and the journal: the others start faster without them.
  const { CLOSE_MS, createHookline } = await import("../../hookline.ts");
  const { show = io.stdout.isTTY ? "lines" : undefined, onListening } = options;
  const json = show === "json";
  const view = show && createLiveView({ io, read: (id) => hookline.event(id), json });
  const file = locateConfig(config, io);
  const hookline: HooklineService = await createHookline({
    config: file,
    env: io.env,
    host,
    port,
    role,
    follower: view,
  });
  let stopListening: (() => void) | undefined;
  try {
    const { url } = await hookline.listen();
    // Before the lines that announce it: a signal may come from then on.
    const stopped = once(io.stopSignal(), "abort");
    if (json) print(io, JSON.stringify({ url }));
    else {
      print(io, `Hookline ${packageVersion()}, configured by ${file}`);
      if (show) print(io, ...describeProgram(hookline.program(), url));
      print(io, `Listening on ${url}`, ...otherUrls(hookline.program().config.gateway.host, url));
    }
    stopListening = view && onListening?.(hookline, view, url);
    await stopped;
    const waitsFor = describeWork(hookline.inFlight());
    const advice = "Ctrl-C again to stop now; what has not ended runs again at the next start.";
    if (waitsFor && !json) print(io, `Finishing ${waitsFor}, up to ${CLOSE_MS / 1000} s. ${advice}`);
  } finally {
    await hookline.close();
    stopListening?.();
  }
}

/** `1 turn and 2 messages`; empty if nothing is in flight. */
function describeWork({ turns, deliveries }: { turns: number; deliveries: number }): string {
  const counts = [turns > 0 && formatCount(turns, "turn"), deliveries > 0 && formatCount(deliveries, "message")];
  return counts.filter(Boolean).join(" and ");
}
