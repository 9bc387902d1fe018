import { listFound } from "../../shared/found.ts";
import { appendSegment, toObject } from "../../shared/json.ts";
import { didYouMean, toolSetOf } from "../../shared/text/text.ts";
import type { MappingInput } from "../schema/generated.ts";
import { isChangeCall } from "../../types.ts";
import type { MappingSource, ResolvedConfig } from "../resolved-config.ts";
import { error, type Finding, staticText, warning } from "./finding.ts";

/** Kinds that make no calls. Without a sandbox nothing would bound those of a program. */
function makesNoCalls(block: ResolvedConfig["agents"]["providers"][string] | undefined): boolean {
  const { kind, sandbox } = toObject(block);
  return kind === "echo" || kind === "gateway" || ((kind === "acp" || kind === "command") && sandbox === false);
}

/** Grants name tool sets that exist, and their model can ask for calls. */
export function checkGrants(
  key: string,
  { grants, model }: Pick<MappingInput, "grants" | "model">,
  { agents, hooks, forges }: ResolvedConfig,
  { preset }: Pick<MappingSource, "preset"> = {},
): Finding[] {
  if (!grants || Object.keys(grants).length === 0) return [];
  const isOfPreset = (call: string): boolean =>
    hooks.writes.some((one) => one.preset === preset && call.startsWith(`${one.account}.`));
  const findings = Object.entries(grants).flatMap(([call, written]) =>
    checkGrant(key, call, written, { ...agents, forges, isOfPreset }),
  );
  const named = staticText(model ?? agents.model ?? "") ?? "";
  const id = agents.models?.find(({ alias }) => alias === named)?.id ?? named;
  const [provider = ""] = id.split("/", 1);
  const isOfFiles = Object.keys(grants).every((call) => isChangeCall(call, forges));
  if (isOfFiles || !makesNoCalls(agents.providers[provider])) return findings;
  return [
    ...findings,
    warning(key, `The model "${named}" cannot call tools, so its turns are without them. Choose another model.`),
  ];
}

function checkGrant(
  key: string,
  call: string,
  written: NonNullable<MappingInput["grants"]>[string],
  {
    tools,
    approvals,
    forges,
    isOfPreset,
  }: ResolvedConfig["agents"] & Pick<ResolvedConfig, "forges"> & { isOfPreset(call: string): boolean },
): Finding[] {
  const at = appendSegment(key, call);
  const sets = Object.keys(tools);
  const set = toolSetOf(call);
  const { mode, arguments: args, free, retry } = typeof written === "string" ? { mode: written } : written;
  const isPattern = call.includes("*");
  const isChange = isChangeCall(call, forges);
  const both = free?.find((name) => args && Object.hasOwn(args, name));
  return listFound(
    isChange && mode === "read" && error(at, 'It changes the repository: grant "ask" or "allow".'),
    isChange &&
      (args || free) &&
      error(at, "Its arguments are what the agent has changed: nothing of them can be fixed or free."),
    !isChange &&
      !sets.includes(set) &&
      !isOfPreset(call) &&
      error(at, `There is no tool set "${set}" in agents.tools${didYouMean(set, sets)}`),
    isPattern && mode === "allow" && error(at, 'A pattern cannot grant "allow". Name each call that needs nobody.'),
    isPattern &&
      args &&
      error(`${at}.arguments`, "A pattern cannot fix arguments, since each call has its own. Name the call."),
    isPattern &&
      free &&
      error(`${at}.free`, "A pattern cannot name arguments, since each call has its own. Name the call."),
    both !== undefined && error(`${at}.free`, `The argument "${both}" is fixed, so it cannot be free.`),
    retry === true &&
      mode === "read" &&
      warning(`${at}.retry`, "It is not used: calls that only read are always repeated."),
    mode === "ask" &&
      !approvals &&
      warning(
        at,
        "Nobody gets a message when it asks. Set agents.approvals, with channel and to or with {} if the page is enough.",
      ),
  );
}

/** Grants outside of mappings, where there is no event that a template could read. */
export function checkFixedGrants(config: ResolvedConfig): Finding[] {
  return [
    ...checkFixed("hooks.agent.grants", config.hooks.agent.grants, config),
    ...checkFixed("agents.defaults.heartbeat.grants", config.agents.heartbeat.grants, config, "read"),
  ];
}

/** `only`: a heartbeat keeps no steps, so nothing could be known after a crash of calls that do more than read. */
function checkFixed(
  key: string,
  grants: MappingInput["grants"] = {},
  config: ResolvedConfig,
  only?: "read",
): Finding[] {
  const own = Object.entries(grants).flatMap(([call, written]) => {
    const at = appendSegment(key, call);
    const { mode, arguments: args = {} } = typeof written === "string" ? { mode: written } : written;
    return listFound(
      isChangeCall(call, config.forges) &&
        error(at, "There is no workspace here, so there is nothing to publish. Remove it."),
      JSON.stringify(args).includes("{{") &&
        error(`${at}.arguments`, "Arguments cannot be templates here. Write plain values."),
      only && mode !== only && error(at, 'A heartbeat can only be granted "read".'),
    );
  });
  return [...checkGrants(key, { grants }, config), ...own];
}
