import { existsSync } from "node:fs";
import path from "node:path";
import { createSecret, readTarget } from "../edit/plan.ts";
import { findUse, toHook, toWantedEvents } from "../../core/config/presets/api-access.ts";
import { findRegistration, toPresetName } from "../../core/config/presets/file.ts";
import type { PresetUse, ResolvedConfig } from "../../core/config/resolved-config.ts";
import { messageOf } from "../../core/errors.ts";
import type { HooklineService } from "../../service/hookline.ts";
import type { HookApi, Vendors } from "../../core/ports/vendor.ts";
import { readRegularFile, replaceFile } from "../../core/shared/system/files.ts";
import { parseJson, readOwn, readPath, toObjects, toText } from "../../core/shared/json.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { type CliIo, printError } from "../io.ts";
import { type Configured, connectStored, findRegistrar, requireUrl } from "../setup/sender.ts";
import { searchPresets } from "../context.ts";
import { openTunnel } from "./tunnel.ts";

interface TunnelFlags {
  /** The configuration. */
  file: string;
  program: string;
  /** Registers webhooks that lead to the tunnel. */
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
  const { vendors } = await searchPresets({ config: file }, io);
  const secretNames = register ? listSecretNames(written, { env: io.env, vendors }) : new Map<string, string>();
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
    if (service && register) say(...(await removeTunnelWebhooks(service.runtime())));
    await tunnel.close();
  }

  async function prepare(started: HooklineService): Promise<void> {
    const runtime = started.runtime();
    say(...(await removeTunnelWebhooks(runtime)));
    if (!register) return;
    const { said, secrets } = await registerTunnelWebhooks(runtime, secretNames);
    say(...said);
    if (Object.keys(secrets).length === 0) return;
    Object.assign(io.env, secrets);
    await started.reload();
  }
}

/** The variables that presets have their secrets from, by the key of the preset. One that its sender will make gets a placeholder. */
function listSecretNames(
  written: Record<string, unknown>,
  { env, vendors }: { env: NodeJS.ProcessEnv; vendors: Vendors },
): Map<string, string> {
  const presets = readPath(written, ["hooks", "presets"]);
  const names = new Map<string, string>();
  for (const [index, entry] of (Array.isArray(presets) ? presets : []).entries()) {
    const name = /^\$\{([A-Za-z_]\w*)\}$/.exec(toText(readPath(entry, ["with", "secret"])))?.[1];
    if (name === undefined) continue;
    names.set(`hooks.presets[${index}]`, name);
    const registrar = findRegistrar(toPresetName(toText(readOwn(entry, "use"))), vendors);
    if (registrar?.webhooks.secretBy === "vendor") env[name] ??= createSecret();
  }
  return names;
}

/** A webhook that leads to a tunnel. It is noted before it is made, so that one that is left can be found. */
interface TunnelWebhook {
  preset: string;
  hook: string;
  url: string;
}

const CALLS_MS = 20_000;
const MAX_BYTES = 1024 * 1024;

/** Removes what an earlier tunnel left at senders, of all presets or of one. Resolves to what happened, in sentences. */
export async function removeTunnelWebhooks(
  read: Configured,
  only?: { preset: string; hook: string },
): Promise<string[]> {
  const { config } = read;
  const noted = readNoted(config);
  const said: string[] = [];
  const kept: TunnelWebhook[] = [];
  for (const webhook of noted) {
    const isWanted = only === undefined || (webhook.preset === only.preset && webhook.hook === only.hook);
    const use = findUse(config, webhook.preset, webhook.hook);
    try {
      const hooks = isWanted && use ? openApi(use, read) : undefined;
      if (!hooks) {
        kept.push(webhook);
        continue;
      }
      for (const id of await hooks.find(webhook.url)) {
        await hooks.remove(id);
        said.push(`Removed the webhook of an earlier tunnel: ${webhook.preset}, ${webhook.url}.`);
      }
    } catch (error) {
      kept.push(webhook);
      said.push(
        `The webhook of an earlier tunnel is still there (${webhook.preset}, ${webhook.url}): ${messageOf(error)}`,
      );
    }
  }
  if (kept.length !== noted.length) writeNoted(config, kept);
  return said;
}

/**
 * Makes a webhook for each preset whose sender's API can be called. Resolves to what happened, in sentences, and to secrets
 * that senders have made, by the environment variable that the configuration names.
 */
async function registerTunnelWebhooks(
  read: Configured,
  secretNames: ReadonlyMap<string, string>,
): Promise<{ said: string[]; secrets: Record<string, string> }> {
  const { config, drivers } = read;
  const said: string[] = [];
  const secrets: Record<string, string> = {};
  for (const use of config.hooks.presets) {
    const vendor = findRegistrar(use.name, drivers.vendors);
    if (!vendor) continue;
    const variable = secretNames.get(use.key);
    try {
      const hooks = openApi(use, read);
      if (!hooks || (vendor.webhooks.secretBy === "vendor" && variable === undefined)) {
        const needed =
          vendor.webhooks.secretBy === "vendor"
            ? "apiToken, and its secret as ${NAME}"
            : "apiToken, and place where it needs one";
        said.push(`No webhook of ${use.name} was made: it needs ${needed}.`);
        continue;
      }
      const url = requireUrl(use, config);
      const other = await hooks.findOther?.(url);
      if (other !== undefined) {
        said.push(`No webhook of ${use.name} was made: it can have one, and that leads to another address.`);
        continue;
      }
      writeNoted(config, [...readNoted(config), { preset: use.name, hook: toHook(use), url }]);
      const secret = vendor.webhooks.secretBy === "us" ? toText([use.with["secret"]].flat()[0]) : undefined;
      const made = await hooks.create({ url, secret, ...toWantedEvents(use) });
      if (made.secret !== undefined && variable !== undefined) secrets[variable] = made.secret;
      said.push(`${vendor.service} posts to ${url}.`, ...(made.notes ?? []));
    } catch (error) {
      said.push(`No webhook of ${use.name} was made: ${messageOf(error)}`);
    }
  }
  return { said, secrets };
}

function openApi(use: PresetUse, read: Configured): HookApi | undefined {
  const isPlaced = toText(use.with["place"]) !== "" || !findRegistration(use.folder)?.placeRequired;
  return isPlaced ? connectStored(use, read, CALLS_MS) : undefined;
}

function fileOf({ store }: ResolvedConfig): string {
  return path.join(store.path, "tunnel-webhooks.json");
}

function readNoted(config: ResolvedConfig): TunnelWebhook[] {
  const file = fileOf(config);
  const noted: unknown = existsSync(file) ? parseJson(readRegularFile(file, MAX_BYTES).toString("utf8")) : [];
  return toObjects(noted).map(({ preset, hook, url }) => ({
    preset: toText(preset),
    hook: toText(hook),
    url: toText(url),
  }));
}

function writeNoted(config: ResolvedConfig, noted: TunnelWebhook[]): void {
  replaceFile(fileOf(config), `${JSON.stringify(noted, undefined, 2)}\n`, { mode: 0o600 });
}
