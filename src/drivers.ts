import { agents } from "./agents/index.ts";
import { channels } from "./channels/index.ts";
import { createConfigReader } from "./config/load.ts";
import type { Drivers } from "./config/plugins.ts";
import { mailSources } from "./mail/sources.ts";
import { providers } from "./providers/index.ts";
import { tools } from "./tools/index.ts";

// Only what wires the steps imports this file: a step must not reach a driver that is not its own.

/** Every driver that a configuration can name without a plugin. */
export const builtInDrivers: Drivers = { agents, channels, mailSources, tools, providers };

export const { readConfig, readConfigText, checkConfig } = createConfigReader(builtInDrivers);
