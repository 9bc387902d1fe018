import type { ResolvedConfig } from "../config/types.ts";
import type { DriverDefinition } from "../plugin.ts";
import { silentLog } from "../telemetry/log.ts";
import { CHANNEL_NAMES, type ChannelName } from "../types.ts";
import { discord } from "./discord.ts";
import type { ChannelDriver } from "./driver.ts";
import { imessage } from "./imessage.ts";
import { mattermost } from "./mattermost.ts";
import { msteams } from "./msteams.ts";
import { signalCli } from "./signal.ts";
import { slack } from "./slack.ts";
import { telegram } from "./telegram.ts";
import { whatsapp } from "./whatsapp.ts";

/** The built-in channels, by name. */
const channels: Record<string, DriverDefinition<ChannelDriver>> = {
  whatsapp,
  signal: signalCli,
  telegram,
  discord,
  slack,
  mattermost,
  imessage,
  msteams,
};

/** The channels that have a block in the config; `plugged` are those that plugins answer for. */
export async function createChannels(
  config: ResolvedConfig["channels"],
  plugged: ResolvedConfig["plugged"]["channels"] = new Map(),
): Promise<Map<ChannelName, ChannelDriver>> {
  const drivers = new Map<ChannelName, ChannelDriver>();
  for (const name of CHANNEL_NAMES) {
    const block = config[name];
    const driver = block && (await channels[name]?.create(block, { name, baseDir: process.cwd(), log: silentLog }));
    if (driver) drivers.set(name, driver);
  }
  for (const [name, create] of plugged) drivers.set(name, await create());
  return drivers;
}

/** The names of the channels that can deliver: the service's own and those of plugins. */
export function configuredChannels({ channels: own, plugged }: Pick<ResolvedConfig, "channels" | "plugged">): string[] {
  return [...Object.keys(own), ...plugged.channels.keys()];
}
