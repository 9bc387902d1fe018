import path from "node:path";
import { takePlugged } from "./plugins/drivers.ts";
import type { Plugin } from "../plugin.ts";
import type { MappingInput, Provider, UserConfig } from "./schema/generated.ts";
import {
  type AllowedModel,
  DEFAULT_TOKEN,
  type HookToken,
  type MappingSource,
  type PresetUse,
  type ResolvedConfig,
} from "./types.ts";

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
  const tokens = resolveTokens(hooks);
  return {
    ...hooks,
    token: tokens[0]?.secrets[0] ?? "",
    tokens,
    path: hooks.path.replace(/\/$/, ""),
    bodyTimeoutMs: bodyTimeoutSeconds * 1000,
    dedupeWindowMs: parseDuration(dedupeWindow),
    redact: hooks.redact.map(toKeys),
    presets: hooks.presets.map(resolvePresetUse),
    transformsDir,
    mappings: hooks.mappings.map((mapping, index) => resolveMapping(mapping, index, { ...origin, transformsDir })),
    mail: resolveMail(user?.mail),
    defaultSessionKey: hooks.defaultSessionKey,
  };
}

function resolveTokens({ token, tokens = {} }: NonNullable<UserConfig["hooks"]>): HookToken[] {
  // A secret read from a file or a shell tends to end in a line break, which no header can hold.
  const toSecrets = (secret: string | string[] = []): string[] => [secret].flat().map((text) => text.trim());
  const named = Object.entries(tokens).map(([name, { secret, hooks }]) => ({
    name,
    secrets: toSecrets(secret),
    hooks,
  }));
  return [{ name: DEFAULT_TOKEN, secrets: toSecrets(token) }, ...named];
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
  return typeof entry === "string" ? { name: entry, with: {}, key } : { name: entry.use, with: entry.with ?? {}, key };
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
  return {
    ...defaults,
    providers: resolveProviders(user?.providers ?? DEFAULTS.agents.providers, origin),
    model: defaults.model,
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

/** What holds where the configuration says nothing. The schema's `default`s tell editors the same. */
export const DEFAULTS = {
  gateway: { host: "127.0.0.1", port: 18_790, trustedProxies: [] },
  hooks: {
    enabled: false,
    path: "/hooks",
    maxBodyBytes: 262_144,
    bodyTimeoutSeconds: 30,
    maxFanOut: 1000,
    maxPending: 1_000_000,
    dedupeWindow: "24h",
    redact: [],
    presets: [],
    transformsDir: "./transforms",
    mappings: [],
    mail: {
      autoStart: true,
      batchSize: 20,
      maxBytes: 20_000,
      filter: { own: false, spam: false, trash: false, drafts: false },
    },
    allowRequestSessionKey: true,
    allowedSessionKeyPrefixes: [],
  },
  agents: {
    providers: {},
    defaults: {
      timeoutSeconds: 600,
      maxConcurrent: 4,
      maxAttempts: 3,
      heartbeat: { every: "30m", ack: "HEARTBEAT_OK" },
    },
  },
  session: { maxTurns: 32, maxTokens: 25_000, idleAfter: "7d" },
  store: { path: "./.webhooks", retention: { maxAge: "30d", maxKeys: 1_000_000 } },
  log: { level: "info" },
} satisfies UserConfig;

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * `"30m"` → 1,800,000 milliseconds. Takes what the configuration's schema lets through; throws a `RangeError`
 * on the rest.
 */
export function parseDuration(text: string): number {
  const [, amount, unit = ""] = /^(\d+)(\D+)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs === undefined) throw new RangeError("a duration is a number and its unit: 500ms, 30s, 30m, 24h, 7d");
  return Number(amount) * unitMs;
}
