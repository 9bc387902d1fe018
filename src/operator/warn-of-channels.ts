import { configuredChannels } from "../config/configured-channels.ts";
import type { ResolvedConfig } from "../config/resolved.ts";
import type { HookAction } from "../types.ts";

/** A sentence for each channel that actions name, by a template or a transform, and that cannot deliver. */
export function warnOfChannels(actions: HookAction[], config: ResolvedConfig): string[] {
  const able = new Set(["last", ...configuredChannels(config)]);
  const named = actions.flatMap((action) =>
    action.kind === "agent" && action.deliver ? [action.channel] : [],
  );
  return [...new Set(named)]
    .filter((channel) => !able.has(channel))
    .map(
      (channel) =>
        `the channel "${channel}" is not configured, and the delivery would fail: add a channels.${channel} block`,
    );
}
