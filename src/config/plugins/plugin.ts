import type { AgentDriver } from "../../agents/driver.ts";
import type { ChannelDriver } from "../../channels/driver.ts";
import type { MailSource } from "../../mail/source.ts";
import type { ChannelName } from "../../types.ts";

/** What a plugin module exports as its default. */
export interface Plugin {
  /** What problems call it. */
  name: string;
  /** Agents by the kind that a provider names them with: `agents.providers: { <name>: { kind } }`. One that exists is replaced. */
  agents?: Record<string, DriverPlugin<AgentDriver>>;
  /** Channels by name. No new names: each replaces the service's own of that name. */
  channels?: { [Name in ChannelName]?: DriverPlugin<ChannelDriver> };
  /** Mailboxes by the kind that `hooks.mail.source` names them with. One that exists is replaced. */
  mailSources?: Record<string, DriverPlugin<MailSource>>;
}

/** One driver that a plugin brings, with the block of the configuration that it is made from. */
export interface DriverPlugin<Driver> {
  /**
   * JSON Schema (draft-07) of the block, of type `object`. `additionalProperties: false` makes an unknown key a problem.
   * That of an agent or a mailbox need not mention `kind`.
   */
  schema: Record<string, unknown>;
  /**
   * Makes the driver, once for each load of the configuration. The options fit the schema: an author may declare them
   * as what it says.
   */
  create(options: Record<string, unknown>): Driver;
}

/** Gives an editor the plugin's types; returns it as it is. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
