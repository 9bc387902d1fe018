import { appendSegment } from "../../shared/json.ts";
import { error, type Finding, warning } from "../finding.ts";
import type { Provider } from "../schema/generated.ts";
import type { AllowedModel, ResolvedConfig } from "../types.ts";
import { MAX_TIMER_MS } from "../../shared/async.ts";

type Agents = ResolvedConfig["agents"];

/** Models name providers that exist, and the default one may be used. */
export function checkAgents({ agents, plugged }: ResolvedConfig): Finding[] {
  const providers = [...Object.keys(agents.providers), ...plugged.agents.keys()];
  return [
    ...checkDefaultModel(agents, providers),
    ...(agents.models ?? []).flatMap((_, index, models) => checkModel(index, models, providers)),
    ...checkHeartbeat(agents),
  ];
}

function checkDefaultModel({ model, models }: Agents, providers: string[]): Finding[] {
  const key = "agents.defaults.model";
  if (model === undefined) {
    return providers.length === 0
      ? []
      : [warning(key, "is not set: heartbeats and hooks that name no model will fail")];
  }
  if (models === undefined) return checkProviderOf(model, key, providers);
  return models.some(({ id, alias }) => id === model || alias === model)
    ? []
    : [error(key, `"${model}" is not on the list agents.defaults.models, which is enforced`)];
}

function checkModel(index: number, models: AllowedModel[], providers: string[]): Finding[] {
  const { id, alias } = models[index] ?? { id: "" };
  const key = `agents.defaults.models[${index}]`;
  const findings = isWithoutProvider(id, providers)
    ? [warning(key, `"${id}" has no provider in agents.providers: a run that asks for it will fail`)]
    : checkProviderOf(id, key, providers);
  if (alias !== undefined && isTaken(alias, index, models)) {
    findings.push(error(`${key}.alias`, `"${alias}" already means another model of the list`));
  }
  return findings;
}

/** The list says what may be asked for, and may be shared by installations that do not have all of it. */
function isWithoutProvider(id: string, names: string[]): boolean {
  const provider = /^([^/]+)\/./.exec(id)?.[1];
  return names.length > 0 && provider !== undefined && !names.includes(provider);
}

function isTaken(alias: string, index: number, models: AllowedModel[]): boolean {
  return models.some((other, at) => (other.alias === alias && at < index) || (other.id === alias && at !== index));
}

function checkProviderOf(model: string, key: string, names: string[]): Finding[] {
  if (names.length === 0) return [];
  const [provider = "", ...rest] = model.split("/");
  if (names.includes(provider) && rest.join("/") !== "") return [];
  return [error(key, `"${model}" must be provider/model, with one of the providers ${names.join(", ")}`)];
}

function checkHeartbeat({ heartbeat }: Agents): Finding[] {
  return heartbeat.everyMs > MAX_TIMER_MS ? [error("agents.defaults.heartbeat.every", "must be at most 24d")] : [];
}

type Setting = Exclude<keyof Provider, "kind">;

const REMOTE: Setting[] = ["baseUrl", "apiKey", "headers"];

/** What a kind of provider knows of the settings. */
const SETTINGS: Record<Provider["kind"], Setting[]> = {
  "openai-compatible": REMOTE,
  openai: REMOTE,
  anthropic: REMOTE,
  gateway: [...REMOTE, "sessionHeader", "keepsHistory"],
  command: ["command", "cwd", "env"],
  acp: ["command", "cwd", "env"],
};

/** What a kind cannot do without, and why. */
const NEEDED: { [Kind in Provider["kind"]]?: [Setting, string] } = {
  "openai-compatible": ["baseUrl", 'is required: kind "openai-compatible" has no address of its own'],
  gateway: ["baseUrl", 'is required: kind "gateway" has no address of its own'],
  command: ["command", 'is required: kind "command" runs a program'],
  acp: ["command", 'is required: kind "acp" talks to a program'],
};

/** Every provider can be called, and is told nothing that it does not understand. */
export function checkProviders({ agents }: ResolvedConfig): Finding[] {
  return Object.entries(agents.providers).flatMap(([name, provider]) => {
    const key = appendSegment("agents.providers", name);
    return [...checkName(name, key), ...checkNeeded(provider, key), ...checkUseless(provider, key)];
  });
}

function checkName(name: string, key: string): Finding[] {
  return name.includes("/")
    ? [error(key, "must not hold a slash: a model's provider is what stands before its first one")]
    : [];
}

function checkNeeded(provider: Provider, key: string): Finding[] {
  const [setting, message] = NEEDED[provider.kind] ?? [];
  return setting && message && provider[setting] === undefined ? [error(`${key}.${setting}`, message)] : [];
}

function checkUseless(provider: Provider, key: string): Finding[] {
  const known = new Set<string>(["kind", ...SETTINGS[provider.kind]]);
  return Object.keys(provider)
    .filter((setting) => !known.has(setting))
    .map((setting) => warning(`${key}.${setting}`, `has no effect on a provider of kind "${provider.kind}"`));
}
