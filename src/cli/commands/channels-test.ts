import type { ChannelDriver } from "../../channels/driver.ts";
import { createChannels } from "../../channels/index.ts";
import { readConfig } from "../../config/load.ts";
import { ConfigError, DriverError } from "../../errors.ts";
import { createId } from "../../shared/id.ts";
import { CHANNEL_NAMES } from "../../types.ts";
import { locateConfig } from "../context.ts";

const TIMEOUT_MS = 30_000;

export interface TestChannelFlags {
  to: string;
  text: string;
  config?: string;
}

/** Sends one message through a configured channel, once, and shows what the service says. */
export async function testChannel(name: string, { to, text, config }: TestChannelFlags): Promise<void> {
  const channel = await openChannel(name, config);
  try {
    channel.checkRecipient(to);
    const message = { to, text, idempotencyKey: createId() };
    const { messageId } = await channel.send(message, AbortSignal.timeout(TIMEOUT_MS));
    console.log(`${name} took the message for ${to}${messageId === undefined ? "." : `: ${messageId}`}`);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    const again = error.retryable ? "another try may help" : "another try would not help";
    console.error(`${name}, to ${to}: ${error.message} (${again})`);
    process.exitCode = 1;
  }
}

async function openChannel(name: string, configFlag: string | undefined): Promise<ChannelDriver> {
  const { config, problems } = await readConfig(locateConfig(configFlag), process.env);
  const mine = problems.filter(({ key }) => key?.startsWith(`channels.${name}`));
  if (mine.length > 0) throw new ConfigError(mine);
  const known = CHANNEL_NAMES.find((candidate) => candidate === name);
  const channel = known && (await createChannels(config.channels, config.plugged.channels)).get(known);
  if (channel) return channel;
  const message = known
    ? `the channel ${name} is not configured: add a channels.${name} block`
    : `there is no channel "${name}"; there are ${CHANNEL_NAMES.join(", ")}`;
  throw new ConfigError([{ message, file: config.file }]);
}
