import type { ResolvedConfig } from "../config/resolved.ts";
import { CHANNEL_NAMES, type ChannelName } from "../types.ts";
import type { ChannelDriver } from "./port.ts";
import { createSlack } from "./slack.ts";

type ChannelOptions = NonNullable<ResolvedConfig["channels"][ChannelName]>;

/** One line a channel. */
const DRIVERS: { [Name in ChannelName]?: (options: ChannelOptions) => ChannelDriver } = {
  slack: createSlack,
};

/** The channels that have a block in the config. */
export function createChannels(config: ResolvedConfig["channels"]): Map<ChannelName, ChannelDriver> {
  const channels = new Map<ChannelName, ChannelDriver>();
  for (const name of CHANNEL_NAMES) {
    const options = config[name];
    const createDriver = DRIVERS[name];
    if (options && createDriver) channels.set(name, createDriver(options));
  }
  return channels;
}
