import { ConfigError } from "../../errors.ts";
import { readPath } from "../../shared/json.ts";

/** A model as it is written into a configuration. */
export interface ModelChoice {
  /** The name and the block of its provider. */
  provider: string;
  block: Record<string, unknown>;
  /** `openai/gpt-5.2` */
  model: string;
  /** The environment variable that holds its key. */
  keyVariable?: string;
  /** What the person should know. */
  note?: string;
}

const KEY_VARIABLES: Record<string, string> = { openai: "OPENAI_API_KEY", anthropic: "ANTHROPIC_API_KEY" };

const OLLAMA = "http://127.0.0.1:11434";
/** Where Ollama does not answer; small enough for most machines. */
const OLLAMA_MODEL = "llama3.2";
const OLLAMA_MS = 2000;

/** `openai:<model>`, `anthropic:<model>`, `ollama` or `ollama:<model>`. Throws a `ConfigError` for anything else. */
export async function parseModel(text: string): Promise<ModelChoice> {
  const [provider = "", ...rest] = text.split(":");
  const model = rest.join(":").trim();
  if (provider === "ollama") return chooseOllama(model);
  const keyVariable = KEY_VARIABLES[provider];
  const expected = "expected openai:<model>, anthropic:<model>, ollama or ollama:<model>";
  if (keyVariable === undefined) throw refuse(`"${text}" is not a model: ${expected}`);
  if (model === "") throw refuse(`"${text}" names no model: ${expected}`);
  const block = { kind: provider, apiKey: `\${${keyVariable}}` };
  return { provider, block, model: `${provider}/${model}`, keyVariable };
}

function refuse(message: string): ConfigError {
  return new ConfigError([{ message: `--model: ${message}` }]);
}

/** Without a name: the first model that Ollama has on this machine. */
async function chooseOllama(named: string): Promise<ModelChoice> {
  const installed = await listOllamaModels();
  const name = named || (installed?.[0] ?? OLLAMA_MODEL);
  const isInstalled = installed?.some((model) => model === name || model === `${name}:latest`);
  const pull = `run \`ollama pull ${name}\``;
  const note = !installed
    ? `Ollama does not answer at ${OLLAMA}: start it, and ${pull}.`
    : isInstalled
      ? undefined
      : `Ollama has no model ${name}: ${pull}.`;
  return {
    provider: "ollama",
    block: { kind: "openai-compatible", baseUrl: `${OLLAMA}/v1` },
    model: `ollama/${name}`,
    ...(note !== undefined && { note }),
  };
}

/** undefined: it does not answer. */
async function listOllamaModels(): Promise<string[] | undefined> {
  try {
    const response = await fetch(`${OLLAMA}/api/tags`, { signal: AbortSignal.timeout(OLLAMA_MS) });
    const models = readPath(JSON.parse(await response.text()), ["models"]);
    return Array.isArray(models) ? models.map((model) => String(readPath(model, ["name"]))) : [];
  } catch {
    return undefined;
  }
}
