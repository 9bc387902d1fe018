import { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { acp } from "./acp.ts";
import { anthropic, openai, openaiCompatible } from "./ai-sdk.ts";
import { command } from "./command.ts";
import type { AgentDriver } from "./driver.ts";
import { createEcho, echo } from "./echo.ts";
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

/** Sends each turn to the driver of the provider that its model begins with; without any provider, to `echo`. */
export function createAgent(drivers: ReadonlyMap<string, AgentDriver>): AgentDriver {
  if (drivers.size === 0) return createEcho();
  return {
    name: "providers",
    run: async (turn, signal) => requireDriver(drivers, turn.model).run(turn, signal),
    close: () => drivers.forEach((driver) => driver.close?.()),
  };
}

function requireDriver(drivers: ReadonlyMap<string, AgentDriver>, model: string | undefined): AgentDriver {
  const known = [...drivers.keys()].join(", ");
  if (model === undefined) {
    throw new DriverError(`No model is named, neither by the hook nor by agents.defaults.model. Providers: ${known}.`, {
      retryable: false,
    });
  }
  const driver = drivers.get(model.split("/", 1)[0] ?? "");
  if (driver) return driver;
  throw new DriverError(
    `No provider is configured for the model "${model}". Write provider/model with one of: ${known}.`,
    { retryable: false },
  );
}
