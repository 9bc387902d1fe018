import { findPresets, readPreset } from "../../config/presets/file.ts";
import type { Target } from "../../config/edit/plan.ts";
import type { Terminal } from "../terminal.ts";
import { type ModelChoice, parseModel } from "./model.ts";

/** What the person chooses that no flag says. */
export interface Answers {
  presets: string[];
  model: ModelChoice | undefined;
  /** The key of the model's provider, to be stored in a file; undefined: the environment has it. */
  apiKey?: string;
}

interface Given {
  presets: string[];
  model: string | undefined;
}

/** Asks a person at the terminal; without one, what is missing stays out. */
export async function askAnswers(given: Given, target: Target, terminal: Terminal | undefined): Promise<Answers> {
  // An existing configuration gets only what flags name.
  const asker = target.text === undefined ? terminal : undefined;
  const presets = given.presets.length > 0 || !asker ? given.presets : await askPresets(asker);
  const text = given.model ?? (asker && (await askModel(asker)));
  const model = text === undefined ? undefined : await parseModel(text);
  const isKeyMissing = model?.keyVariable !== undefined && !target.env[model.keyVariable];
  const apiKey = terminal && model && isKeyMissing ? await askKey(model, terminal) : undefined;
  return { presets, model, apiKey };
}

async function askPresets(terminal: Terminal): Promise<string[]> {
  const own = { value: "", label: "a program of mine, or curl" };
  const known = findPresets().map((name) => ({ value: name, label: name, hint: readPreset(name).preset.description }));
  const chosen = await terminal.choose({ message: "Who sends the first webhooks?", choices: [own, ...known] });
  return chosen === "" ? [] : [chosen];
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
