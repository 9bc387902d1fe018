import type { AgentDriver } from "../../agents/driver.ts";
import type { ChannelDriver } from "../../channels/driver.ts";
import { ConfigError, messageOf } from "../../errors.ts";
import type { MailSource } from "../../mail/source.ts";
import { appendSegment } from "../../shared/json.ts";
import { silentLog } from "../../telemetry/log.ts";
import { CHANNEL_NAMES, type ChannelName } from "../../types.ts";
import type { UserConfig } from "../schema/generated.ts";
import type { DriverDefinition, Plugin } from "../../plugin.ts";

/** The drivers that the configuration asks plugins for. Each throws a `ConfigError` where its plugin cannot make it. */
export interface Plugged {
  /** By the name of the provider. */
  agents: Map<string, () => Promise<AgentDriver>>;
  channels: Map<ChannelName, () => Promise<ChannelDriver>>;
  mailSource: (() => Promise<MailSource>) | undefined;
}

/** Parts the blocks that plugins answer for from those that the types know. */
export function takePlugged(user: UserConfig, plugins: Plugin[]): { user: UserConfig; plugged: Plugged } {
  const plugged = {
    agents: takeAgents(user, plugins),
    channels: takeChannels(user, plugins),
    mailSource: takeMailSource(user, plugins),
  };
  if (plugins.length === 0) return { user, plugged };
  const providers = Object.entries(user.agents?.providers ?? {}).filter(([name]) => !plugged.agents.has(name));
  const channels = { ...user.channels };
  for (const name of plugged.channels.keys()) delete channels[name];
  return {
    user: {
      ...user,
      agents: { ...user.agents, providers: Object.fromEntries(providers) },
      channels,
      hooks: plugged.mailSource ? withoutMailSource(user.hooks) : user.hooks,
    },
    plugged,
  };
}

function takeAgents({ agents = {} }: UserConfig, plugins: Plugin[]): Plugged["agents"] {
  const kinds = new Map(plugins.flatMap((plugin) => Object.entries(plugin.agents ?? {})));
  const taken: Plugged["agents"] = new Map();
  for (const [name, { kind, ...options }] of Object.entries(agents.providers ?? {})) {
    const plugin = kinds.get(kind);
    if (plugin) taken.set(name, toFactory(appendSegment("agents.providers", name), plugin, options));
  }
  return taken;
}

function takeChannels({ channels = {} }: UserConfig, plugins: Plugin[]): Plugged["channels"] {
  const taken: Plugged["channels"] = new Map();
  for (const name of CHANNEL_NAMES) {
    const plugin = plugins.findLast((candidate) => candidate.channels?.[name])?.channels?.[name];
    const options = channels[name];
    if (plugin && options) taken.set(name, toFactory(`channels.${name}`, plugin, { ...options }));
  }
  return taken;
}

function takeMailSource({ hooks }: UserConfig, plugins: Plugin[]): Plugged["mailSource"] {
  const { kind, ...options } = hooks?.mail?.source ?? {};
  const kinds = new Map(plugins.flatMap((plugin) => Object.entries(plugin.mailSources ?? {})));
  const plugin = kind && kinds.get(kind);
  return plugin ? toFactory("hooks.mail.source", plugin, options) : undefined;
}

function withoutMailSource(hooks: UserConfig["hooks"]): UserConfig["hooks"] {
  const { source: _, ...mail } = hooks?.mail ?? {};
  return { ...hooks, mail };
}

function toFactory<Driver>(
  key: string,
  plugin: DriverDefinition<Driver>,
  options: Record<string, unknown>,
): () => Promise<Driver> {
  return async () => {
    try {
      return await plugin.create(options, { name: key, baseDir: process.cwd(), log: silentLog });
    } catch (error) {
      throw new ConfigError([{ key, message: `its plugin refuses it: ${messageOf(error)}` }]);
    }
  };
}
