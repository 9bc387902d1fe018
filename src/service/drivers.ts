import { agents } from "../agents/index.ts";
import { channels } from "../vendors/channels.ts";
import { email } from "../mail/channel/email.ts";
import { createConfigReader } from "../core/config/load.ts";
import type { Drivers } from "../core/config/plugins.ts";
import { mailSources } from "../mail/sources.ts";
import { providers } from "../vendors/signatures/index.ts";
import { tools } from "../agents/tools/index.ts";

// Only what wires the steps imports this file: a step must not reach a driver that is not its own.

/** Every driver that a configuration can name without a plugin. */
export const builtInDrivers: Drivers = { agents, channels: { ...channels, email }, mailSources, tools, providers };

export const { readConfig, readConfigText, checkConfig } = createConfigReader(builtInDrivers);
