import type { ChannelDriver } from "../../core/ports/channel.ts";
import { staticText } from "../../core/config/rules/finding.ts";
import { type ConfigProblem, messageOf } from "../../core/errors.ts";
import { SOURCE_CHANNEL, toChannelName } from "../../core/shared/channel-names.ts";

interface Recipient {
  channel?: string;
  to?: string;
  key: string;
  file: string | undefined;
}

interface Target extends Recipient {
  thread?: "session";
  /** The place of the event, which the channel `source` means. */
  source?: { channel: string };
}

/** A recipient that is written in the configuration must have the form that its channel expects. */
export function checkRecipients(
  recipients: Recipient[],
  channels: ReadonlyMap<string, ChannelDriver>,
): ConfigProblem[] {
  return recipients.flatMap(({ key, file, ...recipient }) => {
    const channel = channels.get(toChannelName(staticText(recipient.channel) ?? ""));
    const to = staticText(recipient.to)?.trim();
    if (!channel || !to) return [];
    try {
      channel.checkRecipient(to);
      return [];
    } catch (error) {
      return { file, key: `${key}.to`, message: `This is not a recipient for ${channel.name}. ${messageOf(error)}` };
    }
  });
}

/** A warning for each channel that has no threads for the sessions of its first target that asks for them. */
export function findThreadless(targets: Target[], channels: ReadonlyMap<string, ChannelDriver>): ConfigProblem[] {
  const warned = new Map<string, ConfigProblem>();
  for (const { thread, key, file, source, ...target } of targets) {
    const written = staticText(target.channel);
    const name = toChannelName(staticText(written === SOURCE_CHANNEL ? source?.channel : written) ?? "");
    const channel = thread && channels.get(name);
    if (!channel || channel.isThread || warned.has(name)) continue;
    const message = `The channel ${name} has no threads: replies go to the recipient itself. Remove thread.`;
    warned.set(name, { file, key: `${key}.thread`, message });
  }
  return [...warned.values()];
}
