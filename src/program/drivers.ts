import type { AgentDriver } from "../agents/driver.ts";
import { createAgent } from "../agents/index.ts";
import type { ChannelDriver } from "../channels/driver.ts";
import type { ReadConfig } from "../config/load.ts";
import { type ConfigProblem, messageOf } from "../errors.ts";
import type { Mailbox } from "../mail/watch/service.ts";
import type { DriverDefinition } from "../plugin.ts";
import { appendSegment } from "../shared/json.ts";
import type { Log } from "../telemetry/log.ts";
import { groupSenders, type OpenSender, readAuth } from "./senders.ts";

/** The configured drivers. Nothing is connected yet. */
export interface OpenDrivers {
  agent: AgentDriver;
  /** By name. */
  channels: Map<string, ChannelDriver>;
  /** Those with a source. */
  mailboxes: Mailbox[];
  /** One for each hook and distinct `auth`. */
  senders: OpenSender[];
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
  const mailboxes: Mailbox[] = [];
  for (const settings of config.hooks.mail) {
    const { kind = "", ...options } = settings.source ?? {};
    const key = `${settings.key}.source`;
    const source = await open(drivers.mailSources[kind], { key, name: settings.name, options });
    const same = source && mailboxes.find((other) => other.source.mailbox === source.mailbox);
    if (same) problems.push({ key, message: `is the mailbox of ${same.settings.key} too: list its folders there` });
    else if (source) mailboxes.push({ settings, source });
  }
  const senders: OpenSender[] = [];
  for (const group of groupSenders(config.hooks.mappings)) {
    const { auth, key, file, credential: name } = group;
    const { scheme, ...block } = auth;
    const verifier = await open(drivers.providers[scheme], { key, file, name, options: block });
    if (verifier) senders.push({ ...group, verifier, ...readAuth(auth) });
  }
  return { agent: createAgent(agents), channels, mailboxes, senders, problems };

  async function open<Driver>(
    definition: DriverDefinition<Driver> | undefined,
    { key, file, name, options: given }: { key: string; file?: string; name: string; options: object },
  ): Promise<Driver | undefined> {
    try {
      return await definition?.create(given, { name, baseDir: config.baseDir, log });
    } catch (error) {
      problems.push({ key, file, message: `its driver refuses the options: ${messageOf(error)}` });
      return undefined;
    }
  }
}
