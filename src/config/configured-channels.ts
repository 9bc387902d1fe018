import type { ResolvedConfig } from "./resolved.ts";

/** The names of the channels that can deliver: the service's own and those of plugins. */
export function configuredChannels({
  channels,
  plugged,
}: Pick<ResolvedConfig, "channels" | "plugged">): string[] {
  return [...Object.keys(channels), ...plugged.channels.keys()];
}
