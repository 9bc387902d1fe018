import { agents } from "../agents/index.ts";
import { tools } from "../agents/tools/index.ts";
import { createConfigReader } from "../core/config/load.ts";
import type { Drivers } from "../core/config/plugins.ts";
import { email } from "../mail/channel/email.ts";
import { mailSources } from "../mail/sources.ts";
import { http } from "../vendors/http-target.ts";
import { vendors } from "../vendors/index.ts";
import { signatures } from "../vendors/signatures/index.ts";

// Only what wires the steps imports this file: a step must not reach a driver that is not its own.

const all = Object.values(vendors);

/** Every driver that a configuration can name without a plugin. */
export const builtInDrivers: Drivers = {
  agents,
  channels: Object.assign({}, ...all.map(({ channels }) => channels), { email, http }),
  mailSources,
  tools,
  providers: Object.assign({}, ...all.map((vendor) => vendor.signatures), signatures),
  vendors,
};

export const { readConfig, readConfigText, checkConfig } = createConfigReader(builtInDrivers);
