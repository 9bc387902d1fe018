import { readOwn, toObject, toText } from "../../shared/json.ts";
import type { PresetUse, ResolvedConfig } from "../types.ts";

/** How the API of a preset's sender is called. */
export interface ApiAccess {
  /** undefined: none is stored. */
  token: string | undefined;
  baseUrl: string | undefined;
  /** Where the webhook is. */
  place: string | undefined;
  /** The block of the channel's account. */
  account: Record<string, unknown>;
}

/** The preset's own options, else those of the channel's account. */
export function toApiAccess(use: PresetUse, { channels }: Pick<ResolvedConfig, "channels">): ApiAccess {
  const { account: name, apiToken, apiUrl, place } = use.with;
  const account = toObject(readOwn(channels, typeof name === "string" ? `${use.name}:${name}` : use.name));
  return {
    token: toText(apiToken).trim() || toText(account["token"]) || undefined,
    baseUrl: toText(apiUrl) || toText(account["baseUrl"]) || undefined,
    place: toText(place) || undefined,
    account,
  };
}
