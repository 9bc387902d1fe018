import { NotConfigured } from "../core/errors.ts";
import type { AgentDriver } from "../core/ports/agent.ts";
import { createEcho } from "./echo.ts";

/** Sends each turn to the driver of the provider that its model begins with; without any provider, to `echo`. */
export function createAgent(drivers: ReadonlyMap<string, AgentDriver>): AgentDriver {
  if (drivers.size === 0) return createEcho();
  return {
    name: "providers",
    canCall: (model) => requireDriver(drivers, model).canCall?.(model) ?? false,
    makesCalls: (model) => requireDriver(drivers, model).makesCalls?.(model) ?? false,
    hasWorkspaces: (model = "") => drivers.get(model.split("/", 1)[0] ?? "")?.hasWorkspaces?.(model) ?? false,
    keepsHistory: (model = "") => drivers.get(model.split("/", 1)[0] ?? "")?.keepsHistory?.(model) ?? false,
    run: async (turn, signal) => requireDriver(drivers, turn.model).run(turn, signal),
    close: () => drivers.forEach((driver) => driver.close?.()),
  };
}

function requireDriver(drivers: ReadonlyMap<string, AgentDriver>, model: string | undefined): AgentDriver {
  const known = [...drivers.keys()].join(", ");
  if (model === undefined) {
    throw new NotConfigured(
      `No model is named, neither by the hook nor by agents.defaults.model. Providers: ${known}.`,
    );
  }
  const driver = drivers.get(model.split("/", 1)[0] ?? "");
  if (driver) return driver;
  throw new NotConfigured(
    `No provider is configured for the model "${model}". Write provider/model with one of: ${known}.`,
  );
}
