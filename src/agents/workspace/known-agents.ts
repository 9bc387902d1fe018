import path from "node:path";
import type { ModelFormat } from "../../core/ports/agent.ts";
import { RELAY_URL } from "./box.ts";

/** Where an agent asks its model, as the relay offers it. */
interface AgentModel {
  /** The model of the provider. */
  id: string;
  formats: readonly ModelFormat[];
}

interface KnownAgent {
  /** The mode in which it asks for no permission. Default: the one that it begins with. */
  mode?: string;
  /** The format in which it asks its model; without one, it can use any. */
  format?: ModelFormat;
  /** Variables of a program in a sandbox. */
  variables?: Record<string, string>;
  /** Variables that lead it to the model. */
  modelVariables?(model: AgentModel): Record<string, string>;
  /** Files in its home that lead it to the model, by path. */
  files?(model: AgentModel): Record<string, string>;
}

const MODEL_URL = `${RELAY_URL}/model/v1`;

const opencode: KnownAgent = {
  modelVariables: (model) => ({ OPENCODE_CONFIG_CONTENT: JSON.stringify(toOpencode(model)) }),
};

const claude: KnownAgent = {
  mode: "bypassPermissions",
  format: "messages",
  variables: { IS_SANDBOX: "1" },
  modelVariables: ({ id }) => ({
    ANTHROPIC_BASE_URL: `${RELAY_URL}/model`,
    ANTHROPIC_API_KEY: "none",
    ANTHROPIC_MODEL: id,
  }),
};

/** Its own sandbox fails in this one, which allows no further namespaces. */
const codex: KnownAgent = {
  mode: "agent-full-access",
  format: "responses",
  modelVariables: () => ({ CODEX_API_KEY: "none" }),
  files: ({ id }) => ({ ".codex/config.toml": toCodex(id) }),
};

const qwen: KnownAgent = {
  mode: "yolo",
  format: "chat",
  modelVariables: ({ id }) => ({ OPENAI_BASE_URL: MODEL_URL, OPENAI_API_KEY: "none", OPENAI_MODEL: id }),
};

/** By the name of the program, over the protocol and without it. */
const AGENTS: Record<string, KnownAgent> = {
  opencode,
  "claude-agent-acp": claude,
  claude,
  "codex-acp": codex,
  codex,
  qwen,
};

const OTHER: KnownAgent = { modelVariables: () => ({ HOOKLINE_MODEL_URL: MODEL_URL }) };

/** Finds an agent by its command. */
export function findAgent([program = ""]: readonly string[]): KnownAgent {
  const name = path.basename(program).replace(/\.(?:exe|[cm]?js)$/, "");
  return Object.hasOwn(AGENTS, name) ? AGENTS[name]! : OTHER;
}

function toOpencode({ id, formats }: AgentModel): object {
  const npm = formats.includes("chat") ? "@ai-sdk/openai-compatible" : "@ai-sdk/anthropic";
  const options = { baseURL: MODEL_URL, apiKey: "none" };
  const model = `hookline/${id}`;
  return {
    provider: { hookline: { npm, name: "Hookline", options, models: { [id]: { name: id } } } },
    model,
    small_model: model,
    autoupdate: false,
    share: "disabled",
  };
}

function toCodex(id: string): string {
  return [
    `model = ${JSON.stringify(id)}`,
    'model_provider = "hookline"',
    "[model_providers.hookline]",
    'name = "Hookline"',
    `base_url = "${MODEL_URL}"`,
    'wire_api = "responses"',
    'env_key = "CODEX_API_KEY"',
    "",
  ].join("\n");
}
