import { trimSlashes } from "../../shared/text/text.ts";
import type { ApiAccess } from "../../ports/vendor.ts";
import { readOwn, toObject, toText } from "../../shared/json.ts";
import type { PresetUse, ResolvedConfig } from "../resolved-config.ts";
import { findRegistration, readPreset } from "./file.ts";

/** How the API of a preset's vendor is called. Without a token, none is stored. */
type StoredAccess = Omit<ApiAccess, "token" | "signal"> & Partial<Pick<ApiAccess, "token">>;

/** The places that `place` names one by one, where webhooks can be: an entry with `*` or `!` names none. */
export function listPlaces({ with: { place } }: Pick<PresetUse, "with">): string[] {
  return [place ?? []].flat().flatMap((entry) => (/[*!]/.test(toText(entry)) ? [] : toText(entry).trim() || []));
}

/** For each place that a use names; without one, the sender's usual place if it has one. */
export function listApiAccesses(use: PresetUse, config: Pick<ResolvedConfig, "channels">): StoredAccess[] {
  const places = listPlaces(use);
  if (places.length > 0) return places.map((place) => toApiAccess(use, config, place));
  return findRegistration(use.folder)?.placeRequired ? [] : [toApiAccess(use, config, undefined)];
}

/** The preset's own options, else those of the channel's account. */
export function toApiAccess(
  use: PresetUse,
  { channels }: Pick<ResolvedConfig, "channels">,
  place: string | undefined,
): StoredAccess {
  const { account: name, apiToken, apiUrl } = use.with;
  const account = toObject(readOwn(channels, typeof name === "string" ? `${use.name}:${name}` : use.name));
  return {
    token: toText(apiToken).trim() || toText(account["token"]) || undefined,
    baseUrl: toText(apiUrl) || toText(account["baseUrl"]) || undefined,
    place,
    account,
  };
}

export function toHook({ name, with: { path } }: PresetUse): string {
  return trimSlashes(toText(path ?? name));
}

/** The use of a preset for a hook. Default: the hook of the preset's name. */
export function findUse({ hooks }: Pick<ResolvedConfig, "hooks">, name: string, hook = name): PresetUse | undefined {
  return hooks.presets.find((use) => use.name === name && toHook(use) === trimSlashes(hook));
}

/** The address that its sender posts to; undefined: no public address is known. */
export function toHookUrl(
  use: PresetUse,
  { gateway, hooks }: Pick<ResolvedConfig, "gateway" | "hooks">,
): string | undefined {
  return gateway.hooksUrl && `${gateway.hooksUrl}${hooks.path}/${toHook(use)}`;
}

/** Its events by their names: `*` and families are replaced by what they stand for. */
export function listEvents({ folder, with: { events } }: PresetUse): string[] {
  const { known = [], default: usual = [] } = readPreset(folder).preset.events ?? {};
  const wanted = Array.isArray(events) ? events.map(String) : usual;
  const isWanted = (event: string): boolean =>
    wanted.some((one) => one === event || (one.endsWith("*") && event.startsWith(one.slice(0, -1))));
  return known.filter((event) => !event.endsWith("*") && isWanted(event));
}

/** The events that its webhook should send. */
export function toWantedEvents(use: PresetUse): { events: string[]; all: boolean } {
  const { events } = use.with;
  return { events: listEvents(use), all: Array.isArray(events) && events.includes("*") };
}
