import { CHANNEL_NAMES } from "../../types.ts";
import { configuredChannels } from "../configured-channels.ts";
import { didYouMean } from "../did-you-mean.ts";
import { error, type Finding } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";
import { staticText } from "./static-text.ts";

const KNOWN: readonly string[] = ["last", ...CHANNEL_NAMES];

/** Channels that are named ahead of any request are among those that exist, and are configured. */
export function checkChannelNames({ hooks, channels, plugged }: ResolvedConfig): Finding[] {
  const configured = configuredChannels({ channels, plugged });
  return [
    ...checkChannel("hooks.mail.channel", hooks.mail.channel, configured),
    ...hooks.mappings.flatMap(({ mapping, key, file }) =>
      checkChannel(`${key}.channel`, mapping.channel, configured).map((finding) => ({ ...finding, file })),
    ),
  ];
}

function checkChannel(key: string, template: string | undefined, configured: string[]): Finding[] {
  const name = staticText(template);
  if (name === undefined || name === "last" || configured.includes(name)) return [];
  if (!KNOWN.includes(name)) return [error(key, `there is no channel "${name}"${didYouMean(name, KNOWN)}`)];
  return [error(key, `the channel "${name}" is not configured: add a channels.${name} block`)];
}
