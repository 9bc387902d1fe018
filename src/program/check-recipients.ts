import type { ChannelDriver } from "../channels/port.ts";
import type { MappingSource } from "../config/resolved.ts";
import { staticText } from "../config/rules/static-text.ts";
import { type ConfigProblem, messageOf } from "../errors.ts";

/** Recipients that are named ahead of any request have the form that their channel knows. */
export function checkRecipients(
  mappings: MappingSource[],
  channels: ReadonlyMap<string, ChannelDriver>,
): ConfigProblem[] {
  return mappings.flatMap(({ mapping, key, file }) => {
    const channel = channels.get(staticText(mapping.channel) ?? "");
    const complaint = channel && findComplaint(channel, staticText(mapping.to)?.trim());
    return complaint === undefined ? [] : [{ file, key: `${key}.to`, message: complaint }];
  });
}

/** Of the recipient only its form is known: whether there is one, the service says when it gets a message. */
function findComplaint(channel: ChannelDriver, to: string | undefined): string | undefined {
  if (!to) return undefined;
  try {
    channel.checkRecipient(to);
    return undefined;
  } catch (error) {
    return `this is no recipient for ${channel.name}. ${messageOf(error)}`;
  }
}
