import path from "node:path";
import type { Origin } from "./merge.ts";
import { toSecrets } from "../shared/secret.ts";
import { toChannelName } from "../shared/channel-names.ts";
import { trimSlashes } from "../shared/text/text.ts";
import { parseDuration } from "../shared/time.ts";
import { toScheduleHook } from "../types.ts";
import type { Drivers } from "./plugins.ts";
import { locatePreset, type PresetSearch } from "./presets/file.ts";
import type { MappingInput, ValidConfig, ValidConfigMailbox } from "./schema/generated.ts";
import {
  type AlertRule,
  type ChannelRules,
  DEFAULT_TOKEN,
  type HookToken,
  type MailSettings,
  type MappingSource,
  type McpPrincipal,
  type McpSettings,
  type ResolvedConfig,
  type ToolSetBlock,
} from "./resolved-config.ts";

/** Where a configuration comes from. */
export interface ConfigLocation {
  /** Absolute; undefined for a program's own object. */
  file?: string;
  /** Absolute. */
  baseDir: string;
  /** The address of a tunnel. */
  hooksUrl?: string;
  /** Where a key is written. Default: in `file`. */
  find?(key: string): Pick<Origin, "file" | "baseDir" | "transformsDir">;
  /** The files that it includes, absolute. */
  parts?: string[];
}

/** Brings a valid configuration into the form that the code uses. The presets' mappings are added later. */
export function resolveConfig(
  valid: ValidConfig,
  { file, baseDir, hooksUrl, find = () => ({ file, baseDir, transformsDir: undefined }), parts = [] }: ConfigLocation,
  drivers: Drivers,
): ResolvedConfig {
  const { auth, mcp, ...gateway } = valid.gateway;
  const { idleAfter, ...session } = valid.session;
  const { maxAge, maxBytes, maxKeys } = valid.store.retention;
  const publicUrl = gateway.publicUrl?.replace(/\/+$/, "");
  return {
    file,
    baseDir,
    parts,
    gateway: {
      ...gateway,
      token: auth?.token?.trim(),
      publicUrl,
      hooksUrl: hooksUrl ?? publicUrl,
      mcp: mcp && resolveMcp(mcp),
    },
    hooks: resolveHooks(valid.hooks, { find, baseDir, vendors: drivers.vendors }),
    agents: resolveAgents(valid.agents),
    ...splitChannels(valid.channels),
    channelNames: [...new Set([...Object.keys(drivers.channels), ...Object.keys(valid.channels)])],
    forges: Object.keys(drivers.channels).filter((name) => drivers.channels[name]?.hasRepositories),
    alerts: valid.alerts.map(resolveAlert),
    limits: valid.limits,
    session: { ...session, idleAfterMs: parseDuration(idleAfter) },
    store: {
      path: path.resolve(baseDir, valid.store.path),
      postgres: resolvePostgres(valid.store),
      retention: { maxAgeMs: parseDuration(maxAge), maxBytes, maxKeys },
    },
    log: valid.log,
  };
}

function resolveMcp({ principals, oauth, allowHosts, key = [] }: ValidMcp): McpSettings {
  const toPrincipal = ([name, { secret, sub, events, ...rest }]: [string, ValidPrincipal]): McpPrincipal => {
    const fixed = Object.entries(rest.arguments).map(([argument, value]) => [argument, [value].flat()]);
    return { name, secrets: toSecrets(secret), sub, events, arguments: Object.fromEntries(fixed) };
  };
  return {
    principals: [...Object.entries(principals), ...Object.entries(oauth?.principals ?? {})].map(toPrincipal),
    oauth: oauth && { issuer: oauth.issuer, scope: oauth.scope },
    allowHosts: allowHosts.map((host) => host.toLowerCase()),
    keys: toSecrets(key),
  };
}

type ValidMcp = NonNullable<ValidConfig["gateway"]["mcp"]>;
/** With a secret, or as the subject of tokens. */
type ValidPrincipal = Pick<ValidMcp["principals"][string], "events" | "arguments"> & {
  secret?: string | string[];
  sub?: string;
};

function resolveAlert(alert: ValidConfig["alerts"][number], index: number): AlertRule {
  const { on, channel, to, hook, every, after } = alert;
  return {
    key: `alerts[${index}]`,
    on,
    channel: toChannelName(channel),
    to: to.trim(),
    hook: hook && trimSlashes(hook),
    everyMs: parseDuration(every),
    afterMs: after === undefined ? undefined : parseDuration(after),
  };
}

function resolvePostgres(store: ValidConfig["store"]): ResolvedConfig["store"]["postgres"] {
  const { url, leaseUrl, password, maxConnections, commitTimeout, upgrade } = store;
  if (url === undefined) return undefined;
  return {
    url: withPassword(url, password),
    leaseUrl: leaseUrl === undefined ? undefined : withPassword(leaseUrl, password),
    maxConnections,
    commitTimeoutMs: parseDuration(commitTimeout),
    upgrade,
  };
}

/** A rule reports a URL that cannot be parsed. */
function withPassword(url: string, password: string | undefined): string {
  if (password === undefined || !URL.canParse(url)) return url;
  const complete = new URL(url);
  complete.password = encodeURIComponent(password);
  return complete.href;
}

/** The drivers do not see what every block can say. */
function splitChannels(blocks: ValidConfig["channels"]): Pick<ResolvedConfig, "channels" | "channelRules"> {
  const channels: ResolvedConfig["channels"] = {};
  const channelRules = new Map<string, ChannelRules>();
  for (const [name, { allow, audience, dryRun, kind: _, ...options }] of Object.entries(blocks)) {
    channels[name] = options;
    channelRules.set(name, {
      allow: Array.isArray(allow) ? allow.map(String) : undefined,
      audience: toAudience(audience),
      dryRun: dryRun === true,
    });
  }
  return { channels, channelRules };
}

function toAudience(value: unknown): ChannelRules["audience"] {
  return value === "public" || value === "private" ? value : undefined;
}

function resolveHooks(
  hooks: ValidConfig["hooks"],
  { find, ...search }: Required<Pick<ConfigLocation, "find">> & PresetSearch,
): ResolvedConfig["hooks"] {
  const { baseDir } = search;
  const { bodyTimeoutSeconds, dedupeWindow, ...rest } = hooks;
  const transformsDir = path.resolve(baseDir, hooks.transformsDir);
  const tokens = resolveTokens(hooks);
  return {
    ...rest,
    token: tokens[0]?.secrets[0] ?? "",
    tokens,
    // With one slash in front and none behind.
    path: `/${trimSlashes(hooks.path)}`,
    bodyTimeoutMs: bodyTimeoutSeconds * 1000,
    dedupeWindowMs: parseDuration(dedupeWindow),
    redact: hooks.redact.map(toKeys),
    presets: hooks.presets.map((entry, index) => {
      const { use, with: values = {} } = typeof entry === "string" ? { use: entry } : entry;
      const key = `hooks.presets[${index}]`;
      const { file, ...own } = find(key);
      return {
        ...locatePreset(use, search),
        with: values,
        file,
        key,
        transformsDir: own.transformsDir ?? transformsDir,
      };
    }),
    transformsDir,
    transformRoots: hooks.transformRoots.map((folder) => path.resolve(baseDir, folder)),
    mappings: hooks.mappings.map((mapping, index) => {
      const id = mapping.id ?? `mapping-${index}`;
      const key = `hooks.mappings[${index}]`;
      const { file, ...own } = find(key);
      const dirs = { transformsDir: own.transformsDir ?? transformsDir, baseDir: own.baseDir };
      return { ...withScheduleHook(mapping, id), id, file, key, ...dirs };
    }),
    reads: [],
    writes: [],
    mail: resolveMailboxes(hooks.mail),
  };
}

/** A mapping with a schedule takes the events of the hook that its id names. */
export function withScheduleHook(mapping: MappingInput, id: string): Pick<MappingSource, "mapping" | "written"> {
  if (!mapping.schedule) return { mapping };
  return { mapping: { ...mapping, match: { path: toScheduleHook(id) } }, written: mapping };
}

function resolveMailboxes(mail: ValidConfig["hooks"]["mail"]): [MailSettings, ...MailSettings[]] {
  if (!Array.isArray(mail)) return [resolveMailbox(mail, "hooks.mail")];
  const [first, ...others] = mail;
  const rest = others.map((mailbox, index) => resolveMailbox(mailbox, `hooks.mail[${index + 1}]`));
  return [resolveMailbox(first, "hooks.mail[0]"), ...rest];
}

function resolveMailbox({ lookback = "0s", ...mailbox }: ValidConfigMailbox, key: string): MailSettings {
  return { ...mailbox, name: mailbox.name ?? mailbox.source?.kind ?? "mail", key, lookbackMs: parseDuration(lookback) };
}

function resolveTokens({ token, tokens = {} }: ValidConfig["hooks"]): HookToken[] {
  const named = Object.entries(tokens).map(([name, { secret, hooks, sessionPrefix }]) => ({
    name,
    secrets: toSecrets(secret),
    hooks,
    sessionPrefix,
  }));
  return [{ name: DEFAULT_TOKEN, secrets: toSecrets(token) }, ...named];
}

/** `$.items[*].token` → items, *, token */
function toKeys(payloadPath: string): string[] {
  return payloadPath
    .slice(1)
    .split(/[.[\]]+/)
    .filter(Boolean);
}

function resolveAgents({
  tools,
  defaults,
  approvals,
  prices: { currency, ...prices },
  ...rest
}: ValidConfig["agents"]): ResolvedConfig["agents"] {
  const { every, cron, timezone, joinWindow, channel, to, ...heartbeat } = defaults.heartbeat;
  return {
    ...defaults,
    ...rest,
    prices: Object.fromEntries(
      Object.entries(prices).flatMap(([id, price]) => (typeof price === "object" ? [[id, price]] : [])),
    ),
    currency,
    tools: Object.fromEntries(Object.entries(tools).map(([name, block]) => [name, resolveToolSet(block)])),
    models: defaults.models?.map((entry) => (typeof entry === "string" ? { id: entry } : entry)),
    approvals: approvals && {
      channel: approvals.channel && toChannelName(approvals.channel),
      to: approvals.to?.trim(),
      expiresMs: parseDuration(approvals.expires),
      by: approvals.by,
    },
    heartbeat: {
      ...heartbeat,
      times: { cron, timezone, every: every ?? (cron === undefined ? "30m" : undefined) },
      joinMs: parseDuration(joinWindow),
      channel: channel && toChannelName(channel),
      to: to?.trim(),
    },
  };
}

/** Its schema has checked the block and filled in the defaults. */
function resolveToolSet(block: ToolBlock): ToolSetBlock {
  const { kind, audience, maxResultLength, callTimeoutSeconds, dryRun, ...options } = block;
  return {
    kind,
    options,
    audience: toAudience(audience),
    maxResultLength: Number(maxResultLength),
    callTimeoutMs: Number(callTimeoutSeconds) * 1000,
    dryRun: dryRun === true,
  };
}

type ToolBlock = ValidConfig["agents"]["tools"][string];
