import type { ResolvedConfig } from "../config/types.ts";
import type { ChannelName } from "../types.ts";
import { createDiscord } from "./discord.ts";
import type { ChannelDriver } from "./driver.ts";
import { createImessage } from "./imessage.ts";
import { createMattermost } from "./mattermost.ts";
import { createMsteams } from "./msteams.ts";
import { createSignal } from "./signal.ts";
import { createSlack } from "./slack.ts";
import { createTelegram } from "./telegram.ts";
import { createWhatsapp } from "./whatsapp.ts";

/** The channels that have a block in the config; `plugged` are those that plugins answer for. */
export function createChannels(
  config: ResolvedConfig["channels"],
  plugged: ResolvedConfig["plugged"]["channels"] = new Map(),
): Map<ChannelName, ChannelDriver> {
  // One line a channel.
  const drivers = [
    config.whatsapp && createWhatsapp(config.whatsapp),
    config.signal && createSignal(config.signal),
    config.telegram && createTelegram(config.telegram),
    config.discord && createDiscord(config.discord),
    config.slack && createSlack(config.slack),
    config.mattermost && createMattermost(config.mattermost),
    config.imessage && createImessage(config.imessage),
    config.msteams && createMsteams(config.msteams),
  ];
  return new Map([
    ...drivers.filter((driver) => driver !== undefined).map((driver) => [driver.name, driver] as const),
    ...[...plugged].map(([name, create]) => [name, create()] as const),
  ]);
}

/** The names of the channels that can deliver: the service's own and those of plugins. */
export function configuredChannels({ channels, plugged }: Pick<ResolvedConfig, "channels" | "plugged">): string[] {
  return [...Object.keys(channels), ...plugged.channels.keys()];
}
