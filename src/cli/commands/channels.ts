import type { Command } from "commander";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { describeMissingChannel } from "../../core/config/rules/finding.ts";
import { ConfigError, DriverError } from "../../core/errors.ts";
import { createId } from "../../core/shared/id.ts";
import { createRefreshTokens } from "../../mail/store.ts";
import { openDrivers } from "../../service/runtime/open-drivers.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { appendSegment, isWithin } from "../../core/shared/json.ts";
import { toChannelName } from "../../core/shared/channel-names.ts";
import { addConfigOptions, type ConfigFlags, EXIT_CODES } from "../command.ts";
import { loadConfig } from "../context.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";

const TIMEOUT_MS = 30_000;

interface TestFlags extends ConfigFlags {
  to: string;
  text: string;
}

export function addChannels(program: Command, io: CliIo): void {
  const channels = program.command("channels").description("Manage messaging channels.");
  addConfigOptions(channels.command("test"))
    .description("Send one message and show what the messaging service answers.")
    .argument("<channel>", "a channel that is configured")
    .requiredOption("--to <recipient>", "the recipient, in the channel's own form")
    .option("--text <text>", "text of the message", "This is a test from Hookline.")
    .action((name: string, flags: TestFlags) => testChannel(toChannelName(name), flags, io));
}

async function testChannel(name: string, { to, text, config, json }: TestFlags, io: CliIo): Promise<void> {
  const channel = await openChannel(name, config, io);
  try {
    channel.checkRecipient(to);
    const message = { to, text, idempotencyKey: createId() };
    const { messageId } = await channel.send(message, AbortSignal.timeout(TIMEOUT_MS));
    if (json) return printJson(io, { ok: true, channel: name, to, messageId });
    print(io, `${name} accepted the message to ${to}${messageId === undefined ? "." : `: ${messageId}`}`);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    io.exitCode = EXIT_CODES.failed;
    const { message, retryable } = error;
    if (json) return printJson(io, { ok: false, channel: name, to, error: message, retryable });
    printError(io, `${name}, to ${to}: ${message} (${retryable ? "a retry may help" : "a retry will not help"})`);
  }
}

async function openChannel(name: string, configFlag: string | undefined, io: CliIo): Promise<ChannelDriver> {
  const read = await loadConfig(configFlag, io);
  const { path: folder, postgres } = read.config.store;
  const refreshTokens = postgres ? undefined : (mailbox: string) => createRefreshTokens({ folder, mailbox });
  const opened = await openDrivers(read, { log: silentLog, refreshTokens });
  const mine = [...read.problems, ...opened.problems].filter(({ key }) =>
    isWithin(key ?? "", appendSegment("channels", name)),
  );
  if (mine.length > 0) throw new ConfigError(mine);
  const channel = opened.channels.get(name);
  if (channel) return channel;
  const { file } = read.config;
  const message = describeMissingChannel(name, read.config);
  throw new ConfigError([{ message, file }]);
}
