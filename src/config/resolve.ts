import path from "node:path";
import { DEFAULTS } from "./defaults.ts";
import { parseDuration } from "./duration.ts";
import type { MappingInput, Provider, UserConfig } from "./generated.ts";
import type { Plugin } from "./plugins/plugin.ts";
import { takePlugged } from "./plugins/take-plugged.ts";
import type { AllowedModel, MappingSource, PresetUse, ResolvedConfig } from "./resolved.ts";

/** Where a configuration comes from. */
export interface Origin {
  /** Absolute; undefined for a program's own object. */
  file?: string;
  /** Absolute. */
  baseDir: string;
}

/**
 * Fills in what was not written. Checks nothing: the schema has, and the rules will. The presets' mappings
 * are not in yet.
 */
export function resolveUserConfig(valid: UserConfig, origin: Origin, plugins: Plugin[] = []): ResolvedConfig {
  const { user, plugged } = takePlugged(valid, plugins);
  return {
    file: origin.file,
    baseDir: origin.baseDir,
    gateway: resolveGateway(user.gateway),
    hooks: resolveHooks(user.hooks, origin),
    agents: resolveAgents(user.agents, origin),
    channels: user.channels ?? {},
    plugged,
    session: resolveSession(user.session),
    store: resolveStore(user.store, origin),
    log: { ...DEFAULTS.log, ...user.log },
  };
}

function resolveGateway(user: UserConfig["gateway"]): ResolvedConfig["gateway"] {
  const { auth, ...gateway } = { ...DEFAULTS.gateway, ...user };
  return { ...gateway, token: auth?.token?.trim() };
}

function resolveHooks(user: UserConfig["hooks"], origin: Origin): ResolvedConfig["hooks"] {
  const { bodyTimeoutSeconds, dedupeWindow, ...hooks } = { ...DEFAULTS.hooks, ...user };
  const transformsDir = path.resolve(origin.baseDir, hooks.transformsDir);
  return {
    ...hooks,
    // A secret read from a file or a shell tends to end in a line break, which no header can hold.
    token: hooks.token?.trim() ?? "",
    path: hooks.path.replace(/\/$/, ""),
    bodyTimeoutMs: bodyTimeoutSeconds * 1000,
    dedupeWindowMs: parseDuration(dedupeWindow),
    redact: hooks.redact.map(toKeys),
    presets: hooks.presets.map(resolvePresetUse),
    transformsDir,
    mappings: hooks.mappings.map((mapping, index) =>
      resolveMapping(mapping, index, { ...origin, transformsDir }),
    ),
    mail: resolveMail(user?.mail),
    defaultSessionKey: hooks.defaultSessionKey,
  };
}

function resolveMail(user: NonNullable<UserConfig["hooks"]>["mail"]): ResolvedConfig["hooks"]["mail"] {
  const { lookback, ...mail } = { ...DEFAULTS.hooks.mail, ...user };
  return {
    ...mail,
    lookbackMs: lookback === undefined ? 0 : parseDuration(lookback),
    filter: { ...DEFAULTS.hooks.mail.filter, ...user?.filter },
  };
}

/** `$.items[*].token` → items, *, token */
function toKeys(payloadPath: string): string[] {
  return payloadPath
    .slice(1)
    .split(/[.[\]]+/)
    .filter(Boolean);
}

function resolvePresetUse(
  entry: NonNullable<NonNullable<UserConfig["hooks"]>["presets"]>[number],
  index: number,
): PresetUse {
  const key = `hooks.presets[${index}]`;
  return typeof entry === "string"
    ? { name: entry, with: {}, key }
    : { name: entry.use, with: entry.with ?? {}, key };
}

function resolveMapping(
  mapping: MappingInput,
  index: number,
  { file, baseDir, transformsDir }: Origin & { transformsDir: string },
): MappingSource {
  const id = mapping.id ?? `mapping-${index}`;
  return { mapping, id, file, key: `hooks.mappings[${index}]`, transformsDir, baseDir };
}

function resolveAgents(user: UserConfig["agents"], origin: Origin): ResolvedConfig["agents"] {
  const { heartbeat: userHeartbeat, ...defaults } = { ...DEFAULTS.agents.defaults, ...user?.defaults };
  const heartbeat = { ...DEFAULTS.agents.defaults.heartbeat, ...userHeartbeat };
  const models = defaults.models?.map(resolveModel);
  const named = models?.find((model) => model.alias !== undefined && model.alias === defaults.model);
  return {
    ...defaults,
    providers: resolveProviders(user?.providers ?? DEFAULTS.agents.providers, origin),
    model: named?.id ?? defaults.model,
    models,
    thinking: defaults.thinking,
    heartbeat: { everyMs: parseDuration(heartbeat.every), ack: heartbeat.ack },
  };
}

function resolveProviders(
  providers: Record<string, Provider>,
  { baseDir }: Origin,
): ResolvedConfig["agents"]["providers"] {
  return Object.fromEntries(
    Object.entries(providers).map(([name, provider]) => [
      name,
      provider.kind === "command" || provider.kind === "acp"
        ? { ...provider, cwd: path.resolve(baseDir, provider.cwd ?? "") }
        : provider,
    ]),
  );
}

function resolveModel(entry: string | AllowedModel): AllowedModel {
  return typeof entry === "string" ? { id: entry } : entry;
}

function resolveSession(user: UserConfig["session"]): ResolvedConfig["session"] {
  const { idleAfter, ...budget } = { ...DEFAULTS.session, ...user };
  return { ...budget, idleAfterMs: parseDuration(idleAfter) };
}

function resolveStore(user: UserConfig["store"], { baseDir }: Origin): ResolvedConfig["store"] {
  const { maxAge, maxBytes, maxKeys } = { ...DEFAULTS.store.retention, ...user?.retention };
  return {
    path: path.resolve(baseDir, user?.path ?? DEFAULTS.store.path),
    retention: { maxAgeMs: parseDuration(maxAge), maxBytes, maxKeys },
  };
}
