import { didYouMean } from "../schema/problems.ts";
import type { AlertRule, ResolvedConfig } from "../types.ts";
import { error, type Finding, warning } from "./finding.ts";

/** Each alert has a channel that is configured, and what its kind needs. */
export function checkAlerts({ alerts, channels, channelNames }: ResolvedConfig): Finding[] {
  return alerts.flatMap((rule) => [...checkChannel(rule), ...checkSilence(rule)]);

  function checkChannel({ key, channel }: AlertRule): Finding[] {
    if (Object.hasOwn(channels, channel)) return [];
    const message = channelNames.includes(channel)
      ? `the channel "${channel}" is not configured: add a channels.${channel} block`
      : `there is no channel "${channel}"${didYouMean(channel, channelNames)}`;
    return [error(`${key}.channel`, message)];
  }
}

function checkSilence({ key, on, hook, afterMs }: AlertRule): Finding[] {
  if (on.includes("no-event-for")) {
    return afterMs === undefined ? [error(`${key}.after`, 'is needed for "no-event-for": after: "24h"')] : [];
  }
  const set = { hook, after: afterMs };
  return (["hook", "after"] as const)
    .filter((setting) => set[setting] !== undefined)
    .map((setting) => warning(`${key}.${setting}`, 'has no effect: it is for "no-event-for"'));
}
