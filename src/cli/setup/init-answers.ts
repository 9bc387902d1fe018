import type { Target } from "../../service/authoring/target.ts";
import { findPresets, type PresetPlace, readPreset, toBuiltIn } from "../../core/config/presets/file.ts";
import { readPath } from "../../core/shared/json.ts";
import { UsageError } from "../command.ts";
import type { Terminal } from "./terminal.ts";

/** Choices of the person that no flag gives. */
export interface Answers {
  presets: PresetPlace[];
  model: ModelChoice | undefined;
  /** The key of the model's provider, to be stored in a file; undefined: the environment has it. */
  apiKey?: string;
}

/** Asks a person at the terminal; without one, what is missing stays out. */
export async function askAnswers(
  given: { presets: PresetPlace[]; model: string | undefined },
  target: Target,
  terminal: Terminal | undefined,
): Promise<Answers> {
  // An existing configuration gets only what flags name.
  const asker = target.text === undefined ? terminal : undefined;
  const presets = given.presets.length > 0 || !asker ? given.presets : await askPresets(asker);
  const text = given.model ?? (asker && (await askModel(asker)));
  const model = text === undefined ? undefined : await parseModel(text);
  const isKeyMissing = model?.keyVariable !== undefined && !target.env[model.keyVariable];
  const apiKey = terminal && model && isKeyMissing ? await askKey(model, terminal) : undefined;
  return { presets, model, apiKey };
}

async function askPresets(terminal: Terminal): Promise<PresetPlace[]> {
  const own = { value: "", label: "a program of mine, or curl" };
  const known = findPresets().map((name) => ({ value: name, label: name, hint: readPreset(name).preset.description }));
  const chosen = await terminal.choose({ message: "Who sends the first webhooks?", choices: [own, ...known] });
  return chosen === "" ? [] : [toBuiltIn(chosen)];
}

async function askModel(terminal: Terminal): Promise<string | undefined> {
  const kind = await terminal.choose({
    message: "Which model should answer?",
    choices: [
      { value: "", label: "none yet", hint: "the built-in agent repeats its prompt" },
      { value: "ollama", label: "Ollama", hint: "on this machine" },
      { value: "openai", label: "OpenAI" },
      { value: "anthropic", label: "Anthropic" },
    ],
  });
  if (kind === "" || kind === "ollama") return kind || undefined;
  return `${kind}:${await terminal.text({ message: "The model's name" })}`;
}

async function askKey({ provider, keyVariable }: ModelChoice, terminal: Terminal): Promise<string | undefined> {
  const choice = await terminal.choose({
    message: `${keyVariable} is not set here. Where is the key of ${provider}?`,
    choices: [
      { value: "text", label: "Type it here: it is stored in a file that only you can read" },
      { value: "later", label: `I will set ${keyVariable}` },
    ],
  });
  return choice === "text" ? terminal.secret("Key (hidden)") : undefined;
}

/** A model as it is written into a configuration. */
interface ModelChoice {
  /** The name and the block of its provider. */
  provider: string;
  block: Record<string, unknown>;
  /** `openai/gpt-5.2` */
  model: string;
  /** The environment variable that holds its key. */
  keyVariable?: string;
  note?: string;
}

const KEY_VARIABLES: Record<string, string> = { openai: "OPENAI_API_KEY", anthropic: "ANTHROPIC_API_KEY" };

const OLLAMA = "http://127.0.0.1:11434";
/** Where Ollama does not answer; small enough for most machines. */
const OLLAMA_MODEL = "llama3.2";
const OLLAMA_MS = 2000;

/** `openai:<model>`, `anthropic:<model>`, `ollama` or `ollama:<model>`. Throws a `UsageError` for anything else. */
async function parseModel(text: string): Promise<ModelChoice> {
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

function refuse(message: string): UsageError {
  return new UsageError(`--model: ${message}`);
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
