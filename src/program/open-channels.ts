import type { ChannelDriver } from "../channels/port.ts";
import { createChannels } from "../channels/registry.ts";
import type { ReadConfig } from "../config/read-config.ts";
import { ConfigError, type ConfigProblem } from "../errors.ts";
import type { ChannelName } from "../types.ts";
import { checkRecipients } from "./check-recipients.ts";

/** The channels that a configuration describes, and what they say is wrong with it. */
export interface OpenedChannels {
  channels: Map<ChannelName, ChannelDriver>;
  problems: ConfigProblem[];
}

/** Makes the drivers; of a configuration that cannot be used, none. */
export function openChannels({ config, problems }: ReadConfig): OpenedChannels {
  if (problems.length > 0) return { channels: new Map(), problems: [] };
  try {
    const channels = createChannels(config.channels, config.plugged.channels);
    return { channels, problems: checkRecipients(config.hooks.mappings, channels) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { channels: new Map(), problems: error.problems };
  }
}
