import { CHANNEL_NAMES } from "../../types.ts";
import { didYouMean } from "../did-you-mean.ts";
import { error, type Finding } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";
import { staticText } from "./static-text.ts";

const KNOWN: readonly string[] = ["last", ...CHANNEL_NAMES];

/** Channels that are named ahead of any request are among those that exist. */
export function checkChannelNames({ hooks }: ResolvedConfig): Finding[] {
  return [
    ...checkChannel("hooks.mail.channel", hooks.mail.channel),
    ...hooks.mappings.flatMap(({ mapping, key, file }) =>
      checkChannel(`${key}.channel`, mapping.channel).map((finding) => ({ ...finding, file })),
    ),
  ];
}

function checkChannel(key: string, template: string | undefined): Finding[] {
  const name = staticText(template);
  if (name === undefined || KNOWN.includes(name)) return [];
  return [error(key, `there is no channel "${name}"${didYouMean(name, KNOWN)}`)];
}
