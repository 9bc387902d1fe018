import { checkMail } from "../../mail/rules.ts";
import type { Finding } from "../finding.ts";
import type { ResolvedConfig } from "../types.ts";
import { checkAgents, checkProviders } from "./agents.ts";
import { checkGateway, checkHooksPath } from "./gateway.ts";
import { checkChannelNames, checkMappingModels, checkMappings, checkSessionKeys } from "./mappings.ts";
import { checkTokens } from "./tokens.ts";

/** What the schema cannot say. Each rule looks at the whole configuration; none prints a secret. */
export const RULES: ((config: ResolvedConfig) => Finding[])[] = [
  checkGateway,
  checkTokens,
  checkHooksPath,
  checkSessionKeys,
  checkChannelNames,
  checkMail,
  checkMappings,
  checkMappingModels,
  checkProviders,
  checkAgents,
];
