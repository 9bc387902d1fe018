import type { DriverDefinition } from "../core/ports/driver.ts";
import { acp } from "./acp.ts";
import { anthropic, openai, openaiCompatible } from "./ai-sdk.ts";
import { command } from "./command.ts";
import type { AgentDriver } from "../core/ports/agent.ts";
import { echo } from "./echo.ts";
import { gateway } from "./gateway.ts";

/** The built-in agents, by kind of provider. */
export const agents: Record<string, DriverDefinition<AgentDriver>> = {
  echo,
  "openai-compatible": openaiCompatible,
  openai,
  anthropic,
  gateway,
  command,
  acp,
};
