import { toCommand } from "../../core/shared/text/command.ts";
import { findUse, listApiAccesses, toApiAccess, toHook, toHookUrl } from "../../core/config/presets/api-access.ts";
import { type ConfigPlan, isReference } from "../../service/authoring/plan.ts";
import type { ReadConfig } from "../../core/config/load.ts";
import type { PresetPlace } from "../../core/config/presets/file.ts";
import type { PresetUse, ResolvedConfig } from "../../core/config/resolved-config.ts";
import { ConfigError } from "../../core/errors.ts";
import { findVendor, type HookApi, type Vendor, type Vendors } from "../../core/ports/vendor.ts";
import type { WriteFlags } from "../command.ts";
import type { CliIo } from "../io.ts";
import { openTerminal, readPlan } from "./change.ts";
import { MissingAnswer } from "./terminal.ts";

export interface RegisterFlags extends WriteFlags {
  envFile?: string;
  path?: string;
  /** The part of the configuration that gets a new entry. */
  part?: string;
  /** Where the webhook is, if it is given. */
  register?: string | boolean;
  /** The same, of several that the configuration has. */
  place?: string;
  /** That of the sender's app; - for standard input. */
  secret?: string;
  token?: string;
  replace: boolean;
}

/** A configuration, and what its presets can be used with. */
export type Configured = Pick<ReadConfig, "config" | "drivers">;

/** A vendor whose webhooks can be made by its API. */
export type Registrar = Vendor & Required<Pick<Vendor, "webhooks">>;

/** A command about the webhook of a preset. */
export interface RegisterCommand {
  preset: PresetPlace;
  vendor: Registrar;
  flags: RegisterFlags;
  io: CliIo;
}

/** A preset's use with the API of its sender. */
export interface Sender {
  use: PresetUse;
  hooks: HookApi;
  url: string;
  /** Where the webhook is; undefined: the sender has one place. */
  place: string | undefined;
}

const CALLS_MS = 60_000;

const NO_PLACE = "No entry names one place: add one without * and !, or give --place.";

/** The vendor of a preset, if its webhooks can be made by its API. */
export function findRegistrar(preset: string, vendors: Vendors): Registrar | undefined {
  const vendor = findVendor(vendors, preset);
  return vendor?.webhooks && { ...vendor, webhooks: vendor.webhooks };
}

/**
 * Opens the sender's API for some places, with the stored token, that of the command line or the environment, or one that is
 * asked for. Default: for each place of the use.
 */
export async function openSenders(
  command: RegisterCommand,
  plan: ConfigPlan,
  { env, places }: { env: NodeJS.ProcessEnv; places?: readonly (string | undefined)[] },
): Promise<Sender[]> {
  const { preset, vendor, flags } = command;
  const { config } = await readPlan(plan, env);
  const use = findUse(config, preset.name, flags.path);
  if (!use) throw refuseUnused(preset, plan.file, listHooks(config, preset.name));
  const accesses = places?.map((place) => toApiAccess(use, config, place)) ?? listApiAccesses(use, config);
  const [first] = accesses;
  if (!first) throw new ConfigError([{ file: plan.file, key: `${use.key}.with.place`, message: NO_PLACE }]);
  const token = await findToken(command, first);
  const url = requireUrl(use, config);
  // The webhook of an app is the same for all its places.
  const wanted = token === "" ? [first] : accesses;
  const signal = AbortSignal.timeout(CALLS_MS);
  return wanted.map(({ place, ...access }) => {
    return { use, url, place, hooks: vendor.webhooks.connect({ ...access, place, token, signal }) };
  });
}

/** The webhooks of one place. */
export interface StoredHooks {
  hooks: HookApi;
  place?: string;
}

/** The API of a preset's sender with the stored token, for each place; none: no token is stored, or no place. */
export function connectStored(use: PresetUse, { config, drivers }: Configured, timeoutMs: number): StoredHooks[] {
  const { webhooks } = findRegistrar(use.name, drivers.vendors) ?? {};
  return listApiAccesses(use, config).flatMap(({ token, ...access }) => {
    if (token === undefined || !webhooks) return [];
    return [
      { hooks: webhooks.connect({ ...access, token, signal: AbortSignal.timeout(timeoutMs) }), place: access.place },
    ];
  });
}

/** `hooks`: those that the preset is used for. */
export function refuseUnused({ name, written }: PresetPlace, file: string | undefined, hooks: string[]): ConfigError {
  const message =
    hooks.length === 0
      ? `The preset "${name}" is not used. Add it with \`${toCommand("presets enable", written)}\`.`
      : `The preset "${name}" is used for other hooks. Name one with --path: ${hooks.join(", ")}.`;
  return new ConfigError([{ file, message }]);
}

export function listHooks({ hooks }: ResolvedConfig, preset: string): string[] {
  return hooks.presets.filter(({ name }) => name === preset).map((use) => toHook(use));
}

/** A stored token whose variable is not set counts as none. Empty: a GitHub App signs its own. */
async function findToken(
  { vendor: { service, webhooks }, flags, io }: RegisterCommand,
  { token, account }: ReturnType<typeof toApiAccess>,
): Promise<string> {
  const { tokenVariables, tokenNeeds } = webhooks;
  const found = flags.token ?? (isReference(token) ? undefined : token);
  if (found !== undefined) return found;
  if (account["app"] !== undefined && account["token"] === undefined) return "";
  const variable = tokenVariables.find((known) => io.env[known]);
  if (variable !== undefined) return io.env[variable] ?? "";
  const needs = `The token needs ${tokenNeeds}. It is not stored.`;
  const terminal = openTerminal(flags, io);
  if (terminal) return terminal.secret(`Token of ${service}'s API (hidden). ${needs}`);
  throw new MissingAnswer(`--token, or ${tokenVariables[0]},`, needs);
}

export function requireUrl(use: PresetUse, config: ResolvedConfig): string {
  const url = toHookUrl(use, config);
  if (url === undefined) throw refuseUnknownUrl();
  return url;
}

export function refuseUnknownUrl(): ConfigError {
  const message = "The sender must know a public address. Set it, such as https://hooks.example.com.";
  return new ConfigError([{ key: "gateway.publicUrl", message }]);
}
