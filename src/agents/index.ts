import type { ResolvedConfig } from "../config/types.ts";
import { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { silentLog } from "../telemetry/log.ts";
import { createAcp } from "./acp/acp.ts";
import { type AiSdkOptions, createAiSdk } from "./ai-sdk.ts";
import { createCommand } from "./command.ts";
import type { AgentDriver, AgentTurn } from "./driver.ts";
import { createEcho, echo } from "./echo.ts";
import { createGateway } from "./gateway.ts";

type Provider = AiSdkOptions["provider"];

/** The built-in agents, by kind of provider. */
const agents: Record<string, DriverDefinition<AgentDriver>> = {
  echo,
  "openai-compatible": unconverted("openai-compatible", createAiSdk),
  openai: unconverted("openai", createAiSdk),
  anthropic: unconverted("anthropic", createAiSdk),
  gateway: unconverted("gateway", createGateway),
  command: unconverted("command", createCommand),
  acp: unconverted("acp", createAcp),
};

/** Replaced by the driver's own definition once it has one, as echo.ts does. */
function unconverted(
  kind: Provider["kind"],
  create: (options: AiSdkOptions) => AgentDriver,
): DriverDefinition<AgentDriver, Provider> {
  return {
    schema: { type: "object" },
    create: (provider, { name }) => create({ name, provider: { ...provider, kind } }),
  };
}

type AgentConfig = Pick<ResolvedConfig["agents"], "providers" | "model" | "models" | "thinking">;

/**
 * The agent that a config describes: `echo` without any provider, else each turn goes to the provider that its model begins
 * with, `plugged` being those of plugins. A turn without a model or a thinking level takes the configured default; aliases
 * are resolved.
 */
export async function createAgent(
  config: AgentConfig,
  plugged: ResolvedConfig["plugged"]["agents"] = new Map(),
): Promise<AgentDriver> {
  const providers = Object.entries(config.providers);
  if (providers.length + plugged.size === 0) return createEcho();
  const drivers = new Map<string, AgentDriver>();
  for (const [name, provider] of providers) {
    const driver = await agents[provider.kind]?.create(provider, { name, baseDir: process.cwd(), log: silentLog });
    if (driver) drivers.set(name, driver);
  }
  for (const [name, create] of plugged) drivers.set(name, await create());
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
