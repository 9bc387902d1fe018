import type { Provider } from "../config/schema/generated.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { DriverError } from "../errors.ts";
import { createAcp } from "./acp/acp.ts";
import { createAiSdk } from "./ai-sdk.ts";
import { createCommand } from "./command.ts";
import type { AgentDriver, AgentTurn } from "./driver.ts";
import { createEcho } from "./echo.ts";
import { createGateway } from "./gateway.ts";

type AgentConfig = Pick<ResolvedConfig["agents"], "providers" | "model" | "models" | "thinking">;

/** One line a kind of provider. */
const DRIVERS: Record<Provider["kind"], (options: { name: string; provider: Provider }) => AgentDriver> = {
  "openai-compatible": createAiSdk,
  openai: createAiSdk,
  anthropic: createAiSdk,
  gateway: createGateway,
  command: createCommand,
  acp: createAcp,
};

/**
 * The agent that a config describes: `echo` without any provider, else each turn goes to the provider that its model begins
 * with, `plugged` being those of plugins. A turn without a model or a thinking level takes the configured default; aliases
 * are resolved.
 */
export function createAgent(
  config: AgentConfig,
  plugged: ResolvedConfig["plugged"]["agents"] = new Map(),
): AgentDriver {
  const providers = Object.entries(config.providers);
  if (providers.length + plugged.size === 0) return createEcho();
  const drivers = new Map([
    ...providers.map(([name, provider]) => [name, DRIVERS[provider.kind]({ name, provider })] as const),
    ...[...plugged].map(([name, create]) => [name, create()] as const),
  ]);
  return {
    name: "providers",
    run: async (turn, signal) => {
      const resolved = resolveTurn(config, turn);
      return requireDriver(drivers, resolved.model).run(resolved, signal);
    },
    close: () => drivers.forEach((driver) => driver.close?.()),
  };
}

function resolveTurn(config: AgentConfig, turn: AgentTurn): AgentTurn {
  const named = turn.model ?? config.model;
  const aliased = config.models?.find((allowed) => allowed.alias !== undefined && allowed.alias === named);
  return { ...turn, model: aliased?.id ?? named, thinking: turn.thinking ?? config.thinking };
}

function requireDriver(drivers: Map<string, AgentDriver>, model: string | undefined): AgentDriver {
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
