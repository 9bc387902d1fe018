import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { toPrintable } from "../../core/telemetry/log.ts";
import type { ModuleCost } from "../../core/transforms/runner.ts";
import { packageVersion } from "../../core/shared/system/package.ts";
import { CLOSE_MS, createHookline, type HooklineService, type HooklineServiceOptions } from "../../service/hookline.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { toScheduleViews } from "../../operator/status.ts";
import { describeSchedule } from "../commands/check.ts";
import { settlesWithin } from "../../core/shared/time.ts";
import { dropFirstChild } from "../../core/transforms/sandbox/prepare.ts";
import { BUILT_IN_HOOKS } from "../../core/types.ts";
import { formatCount, formatModule } from "../format.ts";
import { type CliIo, print, printJsonLine, style, wrapWords } from "../io.ts";
import { createLiveView, type LiveView, readMessages } from "./view.ts";

export interface ServeOptions {
  /** Whether to show each request, and how. Default: lines on a terminal, else not at all. */
  show?: "lines" | "json";
  /** The operator's page may write mappings and transforms. */
  saves?: boolean;
  /** The address of a tunnel to the hooks. */
  hooksUrl?: string;
  /** Called once it listens; the result, before it stops. */
  onListening?(service: HooklineService, view: LiveView, url: string): () => void;
  /** Called with each runtime that is served. */
  onRuntime?(runtime: Runtime): void;
}

export async function runService(
  file: string,
  flags: Pick<HooklineServiceOptions, "host" | "port" | "role" | "upgradeStore">,
  io: CliIo,
  options: ServeOptions,
): Promise<void> {
  const { show = io.stdout.isTTY ? "lines" : undefined, hooksUrl, onListening, onRuntime } = options;
  const json = show === "json";
  const view: LiveView | undefined = show && createLiveView({ io, read: (id) => hookline.event(id), json });
  const stop = io.stopSignal();
  const stopped = stop.aborted ? Promise.resolve() : once(stop, "abort");
  const starting: Promise<HooklineService> = createHookline({
    config: file,
    hooksUrl,
    saves: options.saves,
    ...flags,
    env: io.envFile?.env ?? io.env,
    // The flag is relative to where the person is.
    envFile: io.envFile?.file,
    show:
      view &&
      (async (stream) => {
        for await (const message of readMessages(stream)) {
          view.take(message);
          if (message.name === "reload") onRuntime?.(hookline.runtime());
        }
        await view.close();
      }),
    pool: io.pool,
  }).finally(dropFirstChild);
  const started = await Promise.race([starting, stopped.then(() => abandonStart(starting))]);
  if (!started) return;
  const hookline: HooklineService = started;
  let stopListening: (() => void) | undefined;
  try {
    const { url } = await hookline.listen();
    if (json) printJsonLine(io, { url, hooksUrl });
    else {
      print(io, `Hookline ${packageVersion()}, configured by ${file}`);
      const about = show ? describeRuntime(hookline.runtime(), hooksUrl ?? url) : [];
      print(io, ...about.flatMap((line) => wrapWords(io, line, " ".repeat(10))));
      print(io, `Listening on ${url}`, ...otherUrls(hookline.runtime().config.gateway.host, url));
    }
    onRuntime?.(hookline.runtime());
    io.onHangup?.(() => void hookline.reload("SIGHUP").catch(() => undefined));
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

/** A start can wait for a database without end. It has accepted nothing yet. */
const MAX_START_MS = 3000;

async function abandonStart(starting: Promise<HooklineService>): Promise<undefined> {
  const closed = starting.then((hookline) => hookline.close()).catch(() => undefined);
  await settlesWithin(closed, MAX_START_MS);
}

/** `1 turn and 2 messages`; empty if nothing is in flight. */
function describeWork({ turns, deliveries }: { turns: number; deliveries: number }): string {
  const counts = [turns > 0 && formatCount(turns, "turn"), deliveries > 0 && formatCount(deliveries, "message")];
  return counts.filter(Boolean).join(" and ");
}

const MAX_LISTED = 3;

/** The hooks in use, the agent that answers, and whether the operator's side is on. */
function describeRuntime({ config, mappings, modules }: Runtime, url: string): string[] {
  const { hooks, agents, gateway } = config;
  const posted = mappings.mappings.filter(({ source }) => !source.mapping.schedule);
  const byHook = Map.groupBy(posted, ({ match }) => match.path ?? "<any name>");
  const base = `${url}${hooks.path}`;
  const urls = [...byHook].map(([hook, ofHook]) => {
    const ids = ofHook.map(({ source }) => source.id).join(", ");
    const listed = ofHook.length > MAX_LISTED ? formatCount(ofHook.length, "mapping") : ids;
    return `${base}/${hook}  ${style("dim", listed)}`;
  });
  const builtIn = BUILT_IN_HOOKS.map((hook) => `${base}/${hook}`);
  const providers = Object.keys(agents.providers).join(", ");
  const operator = "npx hookline events list, sessions list, runs list";
  return [
    ...block("Hooks", hooks.enabled ? [...urls, ...builtIn] : ["off: set hooks.enabled to true"]),
    ...block("Schedules", toScheduleViews(config, Date.now()).map(describeSchedule)),
    ...block("Agent", [
      providers === ""
        ? "echo, a placeholder that repeats its prompt: set agents.providers to use a model"
        : `${agents.model ?? "no default model"} (${providers})`,
    ]),
    ...block("Modules", listModules(modules)),
    ...block("Operator", [gateway.token ? operator : `off without gateway.auth.token: /api, ${operator}`]),
  ];
}

const MAX_MODULES = 20;

/** The largest. */
function listModules(modules: ModuleCost[]): string[] {
  const shown = modules.slice(0, MAX_MODULES).map((cost) => toPrintable(formatModule(cost)));
  const left = modules.length - shown.length;
  return left > 0 ? [...shown, `and ${left} more: npx hookline check`] : shown;
}

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
