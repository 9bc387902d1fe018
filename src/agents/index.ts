import type { ResolvedConfig } from "../config/types.ts";
import { DriverError } from "../errors.ts";
import type { DriverDefinition } from "../plugin.ts";
import { silentLog } from "../telemetry/log.ts";
import { acp } from "./acp/acp.ts";
import { type AiSdkOptions, createAiSdk } from "./ai-sdk.ts";
import { command } from "./command.ts";
import type { AgentDriver } from "./driver.ts";
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
  command,
  acp,
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

/**
 * The configured agent: `echo` without any provider, else each turn goes to the provider that its model begins with.
 * `plugged` are the providers of plugins.
 */
export async function createAgent(
  config: Pick<ResolvedConfig["agents"], "providers">,
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
    run: async (turn, signal) => requireDriver(drivers, turn.model).run(turn, signal),
    close: () => drivers.forEach((driver) => driver.close?.()),
  };
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
