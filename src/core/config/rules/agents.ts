import { listFound } from "../../shared/found.ts";
import { appendSegment, toObject, toText } from "../../shared/json.ts";
import { didYouMean } from "../../shared/text/text.ts";
import { KINDS_WITH_LEVELS, LEVELS, SYNONYMS } from "../../shared/thinking.ts";
import { findFlaw, type Recurrence } from "../../shared/recurrence.ts";
import { MAX_TIMER_MS, parseDuration } from "../../shared/time.ts";
import type { AllowedModel, ResolvedConfig } from "../resolved-config.ts";
import { error, type Finding, warning } from "./finding.ts";

type Agents = ResolvedConfig["agents"];

/** Models name providers that exist, and the default model may be used. */
export function checkAgents({ agents }: ResolvedConfig): Finding[] {
  const providers = Object.keys(agents.providers);
  const { models = [], fallbackModels, thinking, heartbeat } = agents;
  return listFound(
    providers.filter((name) => name.includes("/")).map(toSlashError),
    checkDefaultModel(agents, providers),
    models.flatMap((model, index) => checkModel(model, index, { models, providers })),
    checkFallbackModels("agents.defaults.fallbackModels", fallbackModels, agents),
    checkSandboxModels(agents),
    checkBudget(agents),
    checkThinking("agents.defaults.thinking", thinking, agents),
    checkTimes(heartbeat.times),
    heartbeat.joinMs > MAX_TIMER_MS && error("agents.defaults.heartbeat.joinWindow", "The window must be at most 24d."),
  );
}

/** When heartbeats are. */
function checkTimes(times: Recurrence): Finding[] {
  const key = "agents.defaults.heartbeat";
  const flaw = findFlaw(times);
  const isLong = times.every !== undefined && parseDuration(times.every) > MAX_TIMER_MS;
  return listFound(
    flaw && error(appendSegment(key, flaw.field ?? "every"), flaw.message),
    isLong && error(`${key}.every`, "The interval must be at most 24d."),
  );
}

/** A word that no provider knows would be ignored in each turn. */
export function checkThinking(key: string, written: string | undefined, { providers }: Agents): Finding[] {
  const word = written?.trim().toLowerCase();
  const isKnown = LEVELS.some((level) => level === word) || SYNONYMS.has(word ?? "");
  const hasOwnWords = Object.values(providers).some(({ kind }) => !KINDS_WITH_LEVELS.includes(kind));
  if (!word || isKnown || hasOwnWords) return [];
  return [error(key, `"${written}" is not a thinking level${didYouMean(word, LEVELS)}`)];
}

/** Kinds without an API that an agent in a sandbox could ask. */
const KINDS_WITHOUT_API: readonly unknown[] = ["acp", "command", "echo", "gateway"];

/** The model that an agent in a sandbox asks belongs to another provider. */
function checkSandboxModels({ providers }: Agents): Finding[] {
  return Object.entries(providers).flatMap(([name, block]) => {
    const model = readSandboxModel(block);
    if (model === undefined) return [];
    const key = `${appendSegment("agents.providers", name)}.sandbox.model`;
    const kind = providers[model.split("/", 1)[0] ?? ""]?.kind;
    if (!KINDS_WITHOUT_API.includes(kind)) return checkProviderOf(model, key, Object.keys(providers));
    return [error(key, `An agent cannot ask a provider of kind "${kind}". Name a model of one with an API.`)];
  });
}

/** The model that is asked for this program's turns; undefined: the program does not say it. */
function readSandboxModel(block: object | undefined): string | undefined {
  const model = toObject(toObject(block)["sandbox"])["model"];
  return typeof model === "string" ? model : undefined;
}

/** A budget cannot see what a run used if its model has no price, or its agent reports nothing. */
function checkBudget(agents: Agents): Finding[] {
  const { budget, providers } = agents;
  if (!budget) return [];
  const silent = Object.keys(providers).filter(
    (name) => providers[name]?.kind === "command" && readSandboxModel(providers[name]) === undefined,
  );
  const reason = 'because a program (kind: "command") reports no tokens and no cost.';
  return [
    ...checkPrices(agents),
    ...silent.map((name) => warning("agents.budget", `The budget does not count runs of "${name}", ${reason}`)),
  ];
}

/** These say what a run has cost, or nothing at all. */
const KINDS_WITHOUT_PRICES: readonly unknown[] = ["acp", "command"];

function checkPrices({ budget, prices, model, fallbackModels = [], models = [], providers }: Agents): Finding[] {
  if (budget?.unit !== "cost") return [];
  const named = [...(model ? [model] : []), ...fallbackModels];
  const ids = named.map((name) => models.find(({ alias }) => alias === name)?.id ?? name);
  const providerOf = (id: string): Agents["providers"][string] | undefined => providers[id.split("/", 1)[0] ?? ""];
  const used = new Set([...ids, ...models.map(({ id }) => id)].map((id) => readSandboxModel(providerOf(id)) ?? id));
  const priced = [...used].filter((id) => !KINDS_WITHOUT_PRICES.includes(providerOf(id)?.kind));
  const free = priced.filter((id) => !(id in prices));
  const needsPrices = priced.length > 0 || used.size === 0;
  if (needsPrices && Object.keys(prices).length === 0) {
    const message = 'A budget of costs requires agents.prices. Add what each model costs, or set unit: "tokens".';
    return [error("agents.budget", message)];
  }
  return free.map((id) =>
    warning("agents.budget", `The budget does not count runs of "${id}", which has no price. Add it to agents.prices.`),
  );
}

function toSlashError(provider: string): Finding {
  const message =
    "The name of a provider must not contain a slash: in a model, the provider is the part before the first slash.";
  return error(appendSegment("agents.providers", provider), message);
}

function checkDefaultModel(agents: Agents, providers: string[]): Finding[] {
  const key = "agents.defaults.model";
  if (agents.model !== undefined) return checkUsedModel(key, agents.model, agents);
  const message = "No default model is set, so heartbeats and hooks that name no model will fail. Set one.";
  return providers.length === 0 ? [] : [warning(key, message)];
}

/** A model that runs use is on the list, if there is one, and has a provider. */
export function checkUsedModel(key: string, model: string, { models, providers }: Agents): Finding[] {
  const listed = models?.find(({ id, alias }) => id === model || alias === model);
  if (models && !listed) {
    const message = `"${model}" is not on the list agents.defaults.models, which is enforced. Add it, or choose another.`;
    return [error(key, message)];
  }
  return checkProviderOf(listed?.id ?? model, key, Object.keys(providers));
}

/** Checks each like a model that runs use. */
export function checkFallbackModels(key: string, fallbackModels: string[] = [], agents: Agents): Finding[] {
  return fallbackModels.flatMap((model, index) => checkUsedModel(`${key}[${index}]`, model, agents));
}

function checkModel(
  { id, alias }: AllowedModel,
  index: number,
  { models, providers }: { models: AllowedModel[]; providers: string[] },
): Finding[] {
  const key = `agents.defaults.models[${index}]`;
  const provider = /^([^/]+)\/./.exec(id)?.[1];
  // Installations that do not have all of its providers may share the list.
  const findings =
    providers.length === 0
      ? []
      : provider !== undefined && !providers.includes(provider)
        ? [warning(key, `"${id}" has no provider, so a run that asks for it will fail. Add it to agents.providers.`)]
        : checkProviderOf(id, key, providers);
  const isTaken = models.some(
    (other, at) => (other.alias === alias && at < index) || (other.id === alias && at !== index),
  );
  if (alias !== undefined && isTaken) {
    findings.push(error(`${key}.alias`, `"${alias}" already means another model of the list. Choose another alias.`));
  }
  return findings;
}

function checkProviderOf(model: string, key: string, providers: string[]): Finding[] {
  const [provider = "", ...rest] = model.split("/");
  const isComplete = rest.join("/") !== "";
  if (providers.includes(provider) && isComplete) return [];
  if (providers.length > 0) {
    return [error(key, `"${model}" must be provider/model, with one of the providers ${providers.join(", ")}.`)];
  }
  const missing = isComplete
    ? `Add agents.providers.${provider}`
    : "Write provider/model, and add it to agents.providers";
  const message = `"${model}" has no provider, so the built-in echo would answer. ${missing}, or remove the model.`;
  return [error(key, message)];
}

/** Kinds whose calls go where the operator wrote, so that nobody else sees what is asked. */
const KINDS_WITH_ADDRESSES = ["http"];

/** Each tool set says who can see what is asked of it. */
export function checkTools({ agents }: ResolvedConfig): Finding[] {
  return Object.entries(agents.tools).flatMap(([name, { kind, audience, options }]) => {
    const key = appendSegment("agents.tools", name);
    const isUnclear = audience === undefined && !KINDS_WITH_ADDRESSES.includes(kind);
    const isPlain = toText(options["baseUrl"] ?? options["url"]).startsWith("http:") && options["private"] !== true;
    return listFound(
      isUnclear && error(`${key}.audience`, 'Set "private" or "public": the server of this set may fetch any address.'),
      isPlain && warning(key, "The calls are sent unencrypted over http. Use https, or set private: true."),
    );
  });
}
