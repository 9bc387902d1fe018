import { toCommand } from "../../core/shared/text/command.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Command } from "commander";
import type { HooklineService } from "../../service/hookline.ts";
import { describeError, UsageError } from "../command.ts";
import { locateConfig } from "../context.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { clearScreen, type CliIo, print, printWarnings, style, wrap } from "../io.ts";
import { saveSample } from "../samples/save.ts";
import { updateTypes } from "../setup/types.ts";
import { addServeOptions, serve, type ServeFlags } from "./serve.ts";
import type { ServeOptions } from "./service.ts";
import type { LiveView } from "./view.ts";

interface DevFlags extends ServeFlags {
  json: boolean;
  /** The program, or true for the usual one. */
  tunnel?: string | true;
  register: boolean;
}

export function addDev(program: Command, io: CliIo): void {
  addServeOptions(
    program
      .command("dev")
      .description("Serve during development: show each request with its reply, and reload at every save."),
  )
    .option("--json", "print one JSON object for each change", false)
    .option(
      "--tunnel [program]",
      "give the hooks a public address by an installed program, as cloudflared (the default), ngrok or 'my-tunnel {port}'",
    )
    .option(
      "--register",
      "with --tunnel: register the webhooks of presets at their senders, and remove them at the end",
      false,
    )
    .action((flags: DevFlags) => develop(flags, io));
}

async function develop({ json, tunnel, register, ...flags }: DevFlags, io: CliIo): Promise<void> {
  const file = locateConfig(flags.config, io);
  const show = json ? "json" : "lines";
  const onListening: ServeOptions["onListening"] = (service, view, url) =>
    followActions({ service, view, url, flags, io }, json);
  const onRuntime: ServeOptions["onRuntime"] = (runtime) => keepTypes(runtime, io);
  if (tunnel === undefined) {
    if (register)
      throw new UsageError(
        "--register needs --tunnel. `npx hookline presets enable --register` registers one preset for good.",
      );
    return serve(flags, io, { show, saves: true, onListening, onRuntime });
  }
  const { serveWithTunnel } = await import("./dev-tunnel.ts");
  await serveWithTunnel({ file, program: tunnel === true ? "cloudflared" : tunnel, register }, io, (hooksUrl, opened) =>
    serve(flags, io, {
      show,
      saves: true,
      hooksUrl,
      onRuntime,
      onListening(service, view, url) {
        opened(service);
        return onListening(service, view, url);
      },
    }),
  );
}

/** The types that an editor shows are those of the configuration that is served. */
function keepTypes({ config }: Runtime, io: CliIo): void {
  try {
    updateTypes(config);
  } catch (error) {
    printWarnings(io, [describeError(error)]);
  }
}

interface Session {
  service: HooklineService;
  view: LiveView;
  url: string;
  flags: ServeFlags;
  io: CliIo;
}

/** On a terminal, keys do something. Returns how to stop. */
function followActions(session: Session, json: boolean): () => void {
  const { view, url, io } = session;
  if (json || !io.stdin.isTTY) return () => {};
  const withLatest = (use: (id: string, session: Session) => Promise<void>) => async () => {
    const id = view.latest();
    if (id === undefined) print(io, style("dim", "No request has come in yet."));
    else await use(id, session);
  };
  const actions: Record<string, KeyAction> = {
    r: { name: "replay the last request", run: withLatest(replay) },
    s: { name: "save it as a sample", run: withLatest(save) },
    o: { name: "open the page", run: () => openUrl(url, io) },
    c: { name: "clear", run: () => clearScreen(io) },
    q: { name: "quit", run: () => io.interrupt() },
  };
  // `r replay the last request · q quit`
  const keys = Object.entries(actions).map(([key, { name }]) => `${style("bold", key)} ${name}`);
  print(io, "", ...wrap(io, keys, " · "), "");
  return followKeys(io, actions);
}

async function replay(id: string, { service, io }: Session): Promise<void> {
  print(io, style("dim", `replaying ${id}`));
  await service.replay(id);
}

async function save(id: string, { service, flags, io }: Session): Promise<void> {
  const event = await service.event(id);
  if (!event) return;
  const { name, files, failure } = await saveSample(event, { config: flags.config }, io);
  print(io, `saved ${files.map((file) => path.relative(io.cwd, file)).join(", ")}`);
  print(io, style("dim", failure === undefined ? toCommand("test", name) : `It has no expected action: ${failure}`));
}

interface KeyAction {
  name: string;
  run(): void | Promise<void>;
}

/** Calls an action for each key that is pressed on a terminal, one after another. Returns how to stop. */
function followKeys(io: CliIo, actions: Record<string, KeyAction>): () => void {
  const { stdin } = io;
  let running = Promise.resolve();
  const onData = (typed: Buffer | string): void => {
    for (const key of String(typed)) {
      // A terminal in raw mode sends a character instead of a signal.
      if (key === "\u0003") return io.interrupt();
      const action = Object.hasOwn(actions, key) ? actions[key] : undefined;
      if (action) running = running.then(() => action.run()).catch((error) => print(io, describeError(error)));
    }
  };
  stdin.setRawMode?.(true);
  stdin.on("data", onData);
  stdin.resume();
  return () => {
    stdin.off("data", onData);
    stdin.pause();
    stdin.setRawMode?.(false);
  };
}

const OPENERS: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens an address in the person's browser, if this machine has a way to do so. */
async function openUrl(url: string, io: CliIo): Promise<void> {
  const [command = "", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  try {
    const child = spawn(command, [...args, url], { env: io.env, stdio: "ignore", detached: true });
    // Only the start is awaited: the program may stay open as long as the browser does.
    await once(child, "spawn");
    child.unref();
  } catch {
    print(io, `Open ${url} in a browser.`);
  }
}
