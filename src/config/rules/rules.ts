import type { Finding } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";
import { checkAgents } from "./agents.ts";
import { checkChannelNames } from "./channel-names.ts";
import { checkGateway } from "./gateway.ts";
import { checkHooksPath } from "./hooks-path.ts";
import { checkMail } from "./mail.ts";
import { checkMappingModels } from "./mapping-models.ts";
import { checkMappings } from "./mappings.ts";
import { checkProviders } from "./providers.ts";
import { checkSessionKeys } from "./session-keys.ts";
import { checkToken } from "./token.ts";

/** What the schema cannot say. Each rule looks at the whole configuration; none prints a secret. */
export const RULES: ((config: ResolvedConfig) => Finding[])[] = [
  checkGateway,
  checkToken,
  checkHooksPath,
  checkSessionKeys,
  checkChannelNames,
  checkMail,
  checkMappings,
  checkMappingModels,
  checkProviders,
  checkAgents,
];
