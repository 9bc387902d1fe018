import path from "node:path";
import { createSecret, readTarget } from "../../config/edit/plan.ts";
import type { PresetUse } from "../../config/types.ts";
import type { HooklineService } from "../../hookline.ts";
import { findVendor } from "../../registration/vendors.ts";
import { readOwn, readPath, toText } from "../../shared/json.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { type CliIo, printError } from "../io.ts";
import { openTunnel } from "./tunnel.ts";
import { registerTunnelWebhooks, removeTunnelWebhooks } from "./tunnel-webhooks.ts";

export interface TunnelFlags {
  /** The configuration. */
  file: string;
  program: string;
  /** Also make webhooks that lead to it. */
  register: boolean;
}

/**
 * Opens a tunnel to the hooks, and removes what an earlier one left at senders. `serve` gets its address, and calls `opened`
 * once the service listens.
 */
export async function serveWithTunnel(
  { file, program, register }: TunnelFlags,
  io: CliIo,
  serve: (hooksUrl: string, opened: (service: HooklineService) => void) => Promise<void>,
): Promise<void> {
  // Secrets that senders make are added to it.
  io.env = { ...io.env };
  const { written, stateDir } = readTarget(file, io.env);
  const secretNames = register ? listSecretNames(written, io.env) : new Map<string, string>();
  const say = (...lines: string[]): void => printError(io, ...lines.map(toPrintable));
  const tunnel = await openTunnel({ program, cwd: path.dirname(file), env: io.env, stateDir, ended: say });
  let registering: Promise<void> | undefined;
  let service: HooklineService | undefined;
  try {
    say(`The tunnel ${tunnel.url} leads to the hooks, and to nothing else.`);
    await serve(tunnel.url, (started) => {
      service = started;
      tunnel.serve((request, response) => void started.serveHook(request, response));
      registering = prepare(started).catch((error: unknown) => say(`Webhooks were not registered: ${String(error)}`));
    });
  } finally {
    await registering;
    if (service && register) say(...(await removeTunnelWebhooks(service.runtime().config)));
    await tunnel.close();
  }

  async function prepare(started: HooklineService): Promise<void> {
    const { config } = started.runtime();
    say(...(await removeTunnelWebhooks(config)));
    if (!register) return;
    const names = new Map(
      config.hooks.presets.flatMap((use): [PresetUse, string][] => {
        const name = secretNames.get(use.key);
        return name === undefined ? [] : [[use, name]];
      }),
    );
    const { said, secrets } = await registerTunnelWebhooks(config, names);
    say(...said);
    if (Object.keys(secrets).length === 0) return;
    Object.assign(io.env, secrets);
    await started.reload();
  }
}

/** The variables that presets have their secrets from, by the key of the preset. One that its sender will make gets a placeholder. */
function listSecretNames(written: Record<string, unknown>, env: NodeJS.ProcessEnv): Map<string, string> {
  const presets = readPath(written, ["hooks", "presets"]);
  const names = new Map<string, string>();
  for (const [index, entry] of (Array.isArray(presets) ? presets : []).entries()) {
    const name = /^\$\{([A-Za-z_]\w*)\}$/.exec(toText(readPath(entry, ["with", "secret"])))?.[1];
    if (name === undefined) continue;
    names.set(`hooks.presets[${index}]`, name);
    if (findVendor(toText(readOwn(entry, "use")))?.secretBy === "vendor") env[name] ??= createSecret();
  }
  return names;
}
