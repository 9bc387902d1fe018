import { MAX_TIMER_MS } from "../../shared/time.ts";
import { appendSegment } from "../../shared/json.ts";
import type { AllowedModel, ResolvedConfig } from "../types.ts";
import { error, type Finding, warning } from "./finding.ts";

type Agents = ResolvedConfig["agents"];

/** Models name providers that exist, and the default model may be used. */
export function checkAgents({ agents }: ResolvedConfig): Finding[] {
  const providers = Object.keys(agents.providers);
  return [
    ...providers.filter((name) => name.includes("/")).map(toSlashError),
    ...checkDefaultModel(agents, providers),
    ...(agents.models ?? []).flatMap((model, index, models) => checkModel(model, index, { models, providers })),
    ...checkBudget(agents),
    ...(agents.heartbeat.everyMs > MAX_TIMER_MS
      ? [error("agents.defaults.heartbeat.every", "must be at most 24d")]
      : []),
  ];
}

/** A run of a model without a price adds nothing to what is spent. */
function checkBudget({ budget, prices, model, models = [] }: Agents): Finding[] {
  if (budget?.unit !== "cost") return [];
  const used = new Set([...(model ? [model] : []), ...models.map(({ id }) => id)]);
  const free = [...used].filter((id) => !(id in prices) && !models.some(({ alias }) => alias === id));
  if (Object.keys(prices).length === 0) {
    return [error("agents.budget", 'needs agents.prices: add what each model costs, or set unit: "tokens"')];
  }
  return free.map((id) => warning("agents.budget", `does not count runs of "${id}", which has no price`));
}

function toSlashError(provider: string): Finding {
  const message = "must not contain a slash: in a model, the provider is the part before the first slash";
  return error(appendSegment("agents.providers", provider), message);
}

function checkDefaultModel({ model, models }: Agents, providers: string[]): Finding[] {
  const key = "agents.defaults.model";
  if (model === undefined) {
    return providers.length === 0
      ? []
      : [warning(key, "is not set: heartbeats and hooks that name no model will fail")];
  }
  return models === undefined ? checkProviderOf(model, key, providers) : checkListed(key, model, models);
}

export function checkListed(key: string, model: string, models: AllowedModel[]): Finding[] {
  if (models.some(({ id, alias }) => id === model || alias === model)) return [];
  return [error(key, `"${model}" is not on the list agents.defaults.models, which is enforced`)];
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
    providers.length > 0 && provider !== undefined && !providers.includes(provider)
      ? [warning(key, `"${id}" has no provider in agents.providers: a run that asks for it will fail`)]
      : checkProviderOf(id, key, providers);
  if (alias !== undefined && isTaken(alias, index, models)) {
    findings.push(error(`${key}.alias`, `"${alias}" already means another model of the list`));
  }
  return findings;
}

function isTaken(alias: string, index: number, models: AllowedModel[]): boolean {
  return models.some((other, at) => (other.alias === alias && at < index) || (other.id === alias && at !== index));
}

function checkProviderOf(model: string, key: string, providers: string[]): Finding[] {
  const [provider = "", ...rest] = model.split("/");
  if (providers.length === 0 || (providers.includes(provider) && rest.join("/") !== "")) return [];
  return [error(key, `"${model}" must be provider/model, with one of the providers ${providers.join(", ")}`)];
}
