import { toChannelName } from "../../shared/text.ts";
import { didYouMean } from "../schema/problems.ts";
import type { ResolvedConfig } from "../types.ts";

/** A rule's result about one key. */
export interface Finding {
  level: "error" | "warning";
  /** Dotted path in `file`. */
  key: string;
  message: string;
  /** A preset's file. Default: the configuration's own. */
  file?: string;
}

export function error(key: string, message: string): Finding {
  return { level: "error", key, message };
}

export function warning(key: string, message: string): Finding {
  return { level: "warning", key, message };
}

/** Warns of each of these settings of the block that is written. `reason`: why it has no effect. */
export function findUnused<Setting extends string>(
  key: string,
  block: { [Name in Setting]?: unknown },
  settings: readonly Setting[],
  reason: string,
): Finding[] {
  return settings
    .filter((setting) => block[setting] !== undefined)
    .map((setting) => warning(`${key}.${setting}`, `has no effect${reason}`));
}

/** A channel is configured. `others`: names that need no configuration. */
export function checkChannel(
  key: string,
  written: string,
  { channels, channelNames }: Pick<ResolvedConfig, "channels" | "channelNames">,
  others: readonly string[] = [],
): Finding[] {
  const name = toChannelName(written);
  if (others.includes(name) || Object.hasOwn(channels, name)) return [];
  const message = channelNames.includes(name)
    ? `the channel "${name}" is not configured: add a channels.${name} block`
    : `there is no channel "${name}"${didYouMean(name, [...others, ...channelNames])}`;
  return [error(key, message)];
}

/** The text of a template that is the same for every request; undefined if it depends on the request. */
export function staticText(template: string | undefined): string | undefined {
  return template?.includes("{{") ? undefined : template;
}
