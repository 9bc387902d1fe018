import { toApiAccess } from "../presets/api-access.ts";
import { findRegistration } from "../presets/file.ts";
import type { ResolvedConfig } from "../types.ts";
import { error, type Finding } from "./finding.ts";

/** Nobody can be asked for a token when the service finds a gap. */
export function checkCatchUp(config: ResolvedConfig): Finding[] {
  return config.hooks.presets.flatMap((use) => {
    if (use.with["catchUp"] !== true) return [];
    const { token, place } = toApiAccess(use, config);
    const findings: Finding[] = [];
    if (token === undefined) {
      const where = `Set with.apiToken, or channels.${use.name}.token.`;
      findings.push(error(`${use.key}.with.catchUp`, `catchUp needs a stored token of the sender's API. ${where}`));
    }
    if (place === undefined && findRegistration(use.name)?.placeRequired) {
      findings.push(error(`${use.key}.with.catchUp`, "catchUp needs to know where the webhook is. Set with.place."));
    }
    return findings;
  });
}
