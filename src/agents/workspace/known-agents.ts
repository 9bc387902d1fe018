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
  /** Variables that lead it to its model and its calls. */
  lead?(ways: AgentWays): Record<string, string>;
  /** Files in its home that do, by path. */
  files?(ways: AgentWays): Record<string, string>;
}

/** Ways out of its sandbox. Absent: there is none. */
interface AgentWays {
  model?: AgentModel;
  /** Only for a program that is not told by the protocol. */
  callsUrl?: string;
}

/** The variables and files that lead a program to its ways out. */
export function toSettings(
  { variables, lead, files }: KnownAgent,
  ways: AgentWays,
): { variables: Record<string, string>; files: Record<string, string> } {
  const { callsUrl } = ways;
  const own = { ...(callsUrl !== undefined && { HOOKLINE_MCP_URL: callsUrl }) };
  return { variables: { ...variables, ...lead?.(ways), ...own }, files: files?.(ways) ?? {} };
}

const MODEL_URL = `${RELAY_URL}/model/v1`;

const opencode: KnownAgent = {
  lead: (ways) => ({ OPENCODE_CONFIG_CONTENT: JSON.stringify(toOpencode(ways)) }),
};

const claude: KnownAgent = {
  mode: "bypassPermissions",
  format: "messages",
  variables: { IS_SANDBOX: "1" },
  lead: ({ model }) =>
    ofModel(model, ({ id }) => ({
      ANTHROPIC_BASE_URL: `${RELAY_URL}/model`,
      ANTHROPIC_API_KEY: "none",
      ANTHROPIC_MODEL: id,
    })),
  files: ({ callsUrl }) => ofCalls(".claude.json", callsUrl, (url) => ({ type: "http", url })),
};

/** Its own sandbox fails in this one, which allows no further namespaces. */
const codex: KnownAgent = {
  mode: "agent-full-access",
  format: "responses",
  lead: ({ model }) => ofModel(model, () => ({ CODEX_API_KEY: "none" })),
  files: (ways) => ({ ".codex/config.toml": toCodex(ways) }),
};

const qwen: KnownAgent = {
  mode: "yolo",
  format: "chat",
  lead: ({ model }) =>
    ofModel(model, ({ id }) => ({ OPENAI_BASE_URL: MODEL_URL, OPENAI_API_KEY: "none", OPENAI_MODEL: id })),
  files: ({ callsUrl }) => ofCalls(".qwen/settings.json", callsUrl, (httpUrl) => ({ httpUrl })),
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

const OTHER: KnownAgent = { lead: ({ model }) => ofModel(model, () => ({ HOOKLINE_MODEL_URL: MODEL_URL })) };

/** Finds an agent by its command. */
export function findAgent([program = ""]: readonly string[]): KnownAgent {
  const name = path.basename(program).replace(/\.(?:exe|[cm]?js)$/, "");
  return Object.hasOwn(AGENTS, name) ? AGENTS[name]! : OTHER;
}

function ofModel(
  model: AgentModel | undefined,
  describe: (model: AgentModel) => Record<string, string>,
): Record<string, string> {
  return model ? describe(model) : {};
}

/** A file of settings that names the calls as a server. */
function ofCalls(file: string, url: string | undefined, describe: (url: string) => object): Record<string, string> {
  return url === undefined ? {} : { [file]: JSON.stringify({ mcpServers: { hookline: describe(url) } }) };
}

function toOpencode({ model, callsUrl }: AgentWays): object {
  return {
    ...(model && toOpencodeModel(model)),
    ...(callsUrl !== undefined && { mcp: { hookline: { type: "remote", url: callsUrl, enabled: true } } }),
    autoupdate: false,
    share: "disabled",
  };
}

function toOpencodeModel({ id, formats }: AgentModel): object {
  const npm = formats.includes("chat") ? "@ai-sdk/openai-compatible" : "@ai-sdk/anthropic";
  const options = { baseURL: MODEL_URL, apiKey: "none" };
  const model = `hookline/${id}`;
  return {
    provider: { hookline: { npm, name: "Hookline", options, models: { [id]: { name: id } } } },
    model,
    small_model: model,
  };
}

function toCodex({ model, callsUrl }: AgentWays): string {
  return [
    ...(model
      ? [
          `model = ${JSON.stringify(model.id)}`,
          'model_provider = "hookline"',
          "[model_providers.hookline]",
          'name = "Hookline"',
          `base_url = "${MODEL_URL}"`,
          'wire_api = "responses"',
          'env_key = "CODEX_API_KEY"',
        ]
      : []),
    ...(callsUrl === undefined ? [] : ["[mcp_servers.hookline]", `url = "${callsUrl}"`]),
    "",
  ].join("\n");
}
