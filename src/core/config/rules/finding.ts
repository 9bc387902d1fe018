import type { FoundProblem } from "../../errors.ts";
import { appendSegment } from "../../shared/json.ts";
import { channelKind, toChannelName } from "../../shared/channel-names.ts";
import { didYouMean } from "../../shared/text/text.ts";
import type { ResolvedConfig } from "../resolved-config.ts";

/** A rule's result about one key. */
export interface Finding {
  level: "error" | "warning";
  /** Dotted path in `file`. */
  key: string;
  message: string;
  /** A part's or a preset's file. Default: that of the key. */
  file?: string;
  /** Another key that the message names. */
  other?: FoundProblem["other"];
}

/** `other`: a key that the message names. */
export function error(key: string, message: string, other?: string): Finding {
  return { level: "error", key, message, ...(other !== undefined && { other: { key: other } }) };
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
    .map((setting) => warning(`${key}.${setting}`, `This setting has no effect${reason}`));
}

/** A channel is configured. `others`: names that need no configuration. */
export function checkChannel(
  key: string,
  written: string,
  config: Channels,
  others: readonly string[] = [],
): Finding[] {
  const name = toChannelName(written);
  if (others.includes(name) || Object.hasOwn(config.channels, name)) return [];
  return [error(key, describeMissingChannel(name, config, others))];
}

type Channels = Pick<ResolvedConfig, "channels" | "channelNames">;

/** The configured channels of the same kind. */
export function listAccounts(name: string, { channels }: Channels): string[] {
  return Object.keys(channels).filter((other) => other !== name && channelKind(other) === channelKind(name));
}

/** Why a channel cannot be used, and what to write. A channel without its own block does not stand for one of its accounts. */
export function describeMissingChannel(name: string, config: Channels, others: readonly string[] = []): string {
  const { channelNames } = config;
  const accounts = listAccounts(name, config);
  if (accounts.length > 0) {
    return `The channel "${name}" is not configured, but these are: ${accounts.join(", ")}. Name one of them.`;
  }
  return channelNames.includes(channelKind(name))
    ? `The channel "${name}" is not configured: add a ${appendSegment("channels", name)} block.`
    : `There is no channel "${name}"${didYouMean(name, [...others, ...channelNames])}`;
}

/** The text of a template that is the same for every request; undefined if it depends on the request. */
export function staticText(template: string | undefined): string | undefined {
  return template?.includes("{{") ? undefined : template;
}
