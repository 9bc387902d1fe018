import type { DriverDefinition } from "../../plugin.ts";
import { appendSegment } from "../../shared/json.ts";
import type { Drivers } from "../plugins.ts";
import type { ResolvedConfig } from "../types.ts";
import { checkAgents } from "./agents.ts";
import { checkAlerts } from "./alerts.ts";
import { checkAuth } from "./auth.ts";
import type { Finding } from "./finding.ts";
import { checkEnabled, checkGateway, checkHooksPath } from "./gateway.ts";
import { checkMail } from "./mail.ts";
import { checkChannelNames, checkMappingModels, checkMappings, checkSessionKeys } from "./mappings.ts";
import { checkStore } from "./store.ts";
import { checkTokens } from "./tokens.ts";

/** Finds what the schema cannot express. No finding contains a secret. */
export function applyRules(config: ResolvedConfig, drivers: Drivers): Finding[] {
  return [...RULES.flatMap((rule) => rule(config, drivers)), ...checkDrivers(config, drivers)];
}

const RULES: ((config: ResolvedConfig, drivers: Drivers) => Finding[])[] = [
  checkGateway,
  checkEnabled,
  checkTokens,
  checkHooksPath,
  checkSessionKeys,
  checkChannelNames,
  checkMail,
  checkMappings,
  checkAuth,
  checkMappingModels,
  checkAgents,
  checkStore,
  checkAlerts,
];

/** Each driver checks its own block. */
function checkDrivers({ agents, channels, hooks, baseDir }: ResolvedConfig, drivers: Drivers): Finding[] {
  return [
    ...Object.entries(agents.providers).flatMap(([name, block]) =>
      checkBlock(appendSegment("agents.providers", name), block, drivers.agents[block.kind]),
    ),
    ...Object.entries(channels).flatMap(([name, block]) =>
      checkBlock(appendSegment("channels", name), block, drivers.channels[name]),
    ),
    ...hooks.mail.flatMap(({ key, source }) =>
      source ? checkBlock(`${key}.source`, source, drivers.mailSources[source.kind]) : [],
    ),
    ...hooks.mappings.flatMap(({ mapping: { auth }, key, file }) =>
      auth
        ? checkBlock(`${key}.auth`, auth, drivers.providers[auth.scheme]).map((finding) => ({ ...finding, file }))
        : [],
    ),
  ];

  function checkBlock(place: string, block: object, definition: DriverDefinition<unknown> | undefined): Finding[] {
    const problems = definition?.check?.(block, { baseDir }) ?? [];
    return problems.map(({ key, message, level = "error" }) => ({
      level,
      key: key === undefined ? place : `${place}.${key}`,
      message,
    }));
  }
}
