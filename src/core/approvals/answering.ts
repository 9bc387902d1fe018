import type { MappingInput } from "../config/schema/generated.ts";
import type { ChannelDriver } from "../ports/channel.ts";
import { findVendor, type Vendors } from "../ports/vendor.ts";
import { toChannelName } from "../shared/channel-names.ts";

/** How people can answer the questions of a channel. */
export interface Answering {
  byMessage: boolean;
  byButton: boolean;
  /** Where presses are posted to, if each button names it. */
  pressUrl?: string;
}

export interface AnsweringOptions {
  /** The channel of the questions. */
  channel: string;
  driver: Pick<ChannelDriver, "buttons">;
  /** The people who may answer. */
  by: readonly string[];
  mappings: readonly { preset?: string; mapping: Pick<MappingInput, "auth" | "match" | "source"> }[];
  vendors: Vendors;
  /** The address of all hooks. Absent: nobody knows it. */
  hooksUrl?: string;
}

/** A use of the account's preset verifies who has answered. Without one there is no way but the page and the commands. */
export function findAnswering({ channel, driver, by, mappings, vendors, hooksUrl }: AnsweringOptions): Answering {
  const uses =
    by.length === 0
      ? []
      : mappings.filter(({ mapping: { auth, source } }) => auth && toChannelName(source?.channel ?? "") === channel);
  const byMessage = uses.some(({ preset }) => findVendor(vendors, preset)?.readMessage);
  const pressed = uses.find(({ preset }) => findVendor(vendors, preset)?.readPress);
  const path = pressed?.mapping.match?.path;
  const pressUrl = driver.buttons?.needsUrl && hooksUrl && path !== undefined ? `${hooksUrl}/${path}` : undefined;
  const byButton = driver.buttons !== undefined && pressed !== undefined;
  return { byMessage, byButton: byButton && (!driver.buttons?.needsUrl || pressUrl !== undefined), pressUrl };
}
