import { existsSync } from "node:fs";
import path from "node:path";
import { createSecret } from "../../service/authoring/plan.ts";
import { listItems, readTarget, type Target } from "../../service/authoring/target.ts";
import { findUse, toHook, toWantedEvents } from "../../core/config/presets/api-access.ts";
import { toPresetName } from "../../core/config/presets/file.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
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
  // Secrets that senders make are added to it, so the service reads it, and not the file.
  io.env = { ...io.env };
  delete io.envFile;
  const target = readTarget(file, io.env);
  const { stateDir } = target;
  const { vendors } = await searchPresets({ config: file }, io);
  const secretNames = register ? listSecretNames(target, { env: io.env, vendors }) : new Map<string, string>();
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
  target: Target,
  { env, vendors }: { env: NodeJS.ProcessEnv; vendors: Vendors },
): Map<string, string> {
  const names = new Map<string, string>();
  for (const [index, { item: entry }] of listItems(target, ["hooks", "presets"]).entries()) {
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
      const places = isWanted && use ? connectStored(use, read, CALLS_MS) : [];
      if (places.length === 0) {
        kept.push(webhook);
        continue;
      }
      for (const { hooks } of places) said.push(...(await removeFrom(hooks, webhook)));
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

async function removeFrom(hooks: HookApi, { preset, url }: TunnelWebhook): Promise<string[]> {
  const found = await hooks.find(url);
  for (const id of found) await hooks.remove(id);
  return found.map(() => `Removed the webhook of an earlier tunnel: ${preset}, ${url}.`);
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
      const [first, ...more] = connectStored(use, read, CALLS_MS);
      // Each webhook would have another secret.
      const isOne = more.length === 0 || vendor.webhooks.secretBy !== "vendor";
      if (!first || !isOne || (vendor.webhooks.secretBy === "vendor" && variable === undefined)) {
        const needed =
          vendor.webhooks.secretBy === "vendor"
            ? "apiToken, its secret as ${NAME}, and one place at most"
            : "apiToken, and place where it needs one";
        said.push(`No webhook of ${use.name} was made: it needs ${needed}.`);
        continue;
      }
      const url = requireUrl(use, config);
      const other = await first.hooks.findOther?.(url);
      if (other !== undefined) {
        said.push(`No webhook of ${use.name} was made: it can have one, and that leads to another address.`);
        continue;
      }
      writeNoted(config, [...readNoted(config), { preset: use.name, hook: toHook(use), url }]);
      const secret = vendor.webhooks.secretBy === "us" ? toText([use.with["secret"]].flat()[0]) : undefined;
      for (const place of [first, ...more]) {
        const { secret: theirs, notes = [] } = await place.hooks.create({ url, secret, ...toWantedEvents(use) });
        Object.assign(secrets, theirs !== undefined && variable !== undefined && { [variable]: theirs });
        said.push(`${vendor.service} posts to ${url}.`, ...notes);
      }
    } catch (error) {
      said.push(`No webhook of ${use.name} was made: ${messageOf(error)}`);
    }
  }
  return { said, secrets };
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
