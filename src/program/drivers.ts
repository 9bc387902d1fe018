import type { AgentDriver } from "../agents/driver.ts";
import { createAgent } from "../agents/index.ts";
import type { ChannelDriver } from "../channels/driver.ts";
import type { ReadConfig } from "../config/load.ts";
import { type ConfigProblem, messageOf } from "../errors.ts";
import type { MailSource } from "../mail/source.ts";
import type { DriverDefinition } from "../plugin.ts";
import { appendSegment } from "../shared/json.ts";
import type { Log } from "../telemetry/log.ts";

/** The configured drivers. Nothing is connected yet. */
export interface OpenDrivers {
  agent: AgentDriver;
  /** By name. */
  channels: Map<string, ChannelDriver>;
  /** undefined: no mailbox is configured. */
  mailSource: MailSource | undefined;
  /** The blocks whose drivers could not be made. */
  problems: ConfigProblem[];
}

/** Makes the drivers that a configuration names. */
export async function openDrivers({ config, drivers }: ReadConfig, log: Log): Promise<OpenDrivers> {
  const problems: ConfigProblem[] = [];
  const agents = new Map<string, AgentDriver>();
  for (const [name, { kind, ...options }] of Object.entries(config.agents.providers)) {
    const agent = await open(drivers.agents[kind], { key: appendSegment("agents.providers", name), name, options });
    if (agent) agents.set(name, agent);
  }
  const channels = new Map<string, ChannelDriver>();
  for (const [name, options] of Object.entries(config.channels)) {
    const channel = await open(drivers.channels[name], { key: appendSegment("channels", name), name, options });
    if (channel) channels.set(name, channel);
  }
  const { kind = "", ...options } = config.hooks.mail.source ?? {};
  const mailSource = await open(drivers.mailSources[kind], { key: "hooks.mail.source", name: "source", options });
  return { agent: createAgent(agents), channels, mailSource, problems };

  async function open<Driver>(
    definition: DriverDefinition<Driver> | undefined,
    { key, name, options: given }: { key: string; name: string; options: object },
  ): Promise<Driver | undefined> {
    try {
      return await definition?.create(given, { name, baseDir: config.baseDir, log });
    } catch (error) {
      problems.push({ key, message: `its driver refuses the options: ${messageOf(error)}` });
      return undefined;
    }
  }
}
