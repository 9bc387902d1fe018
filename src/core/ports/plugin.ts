import type { AgentDriver } from "./agent.ts";
import type { ChannelDefinition, DriverDefinition, SignatureDefinition } from "./driver.ts";
import type { MailSource } from "./mail-source.ts";
import type { ToolSet } from "./tool-set.ts";
import type { Vendor } from "./vendor.ts";

/** The default export of a plugin module. The built-in drivers are plugins of the same form. */
export interface Plugin {
  /** Names the plugin in error messages. */
  name: string;
  /** By `kind` of a block in `agents.providers`. */
  agents?: Record<string, DriverDefinition<AgentDriver>>;
  /** By name of the block in `channels`. New names are allowed. */
  channels?: Record<string, ChannelDefinition>;
  /** By `kind` of `hooks.mail.source`. */
  mailSources?: Record<string, DriverDefinition<MailSource>>;
  /** By `kind` of a block in `agents.tools`. */
  tools?: Record<string, DriverDefinition<ToolSet>>;
  /** By `scheme` of an `auth` block. */
  providers?: Record<string, SignatureDefinition>;
  /** By name of their presets. */
  vendors?: Record<string, Vendor>;
}

/** Gives an editor the types of a plugin. Returns it unchanged. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
