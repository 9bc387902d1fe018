import { isWithin } from "../../shared/json.ts";
import { BUILT_IN_HOOKS, MAIN_SESSION, SOURCE_CHANNEL } from "../../types.ts";
import { toChannelName } from "../../shared/text.ts";
import type { Drivers } from "../plugins.ts";
import { trimSlashes } from "../resolve.ts";
import { didYouMean } from "../schema/problems.ts";
import type { MappingSource, ResolvedConfig } from "../types.ts";
import { checkListed } from "./agents.ts";
import { checkAuth } from "./auth.ts";
import { checkChannel, error, type Finding, findUnused, staticText, warning } from "./finding.ts";

/** Every mapping can be reached, can make an action, has a unique id, and names channels and models that may be used. */
export function checkMappings(config: ResolvedConfig, drivers: Drivers): Finding[] {
  const { hooks } = config;
  return hooks.mappings.flatMap((source, index) =>
    [
      ...checkId(source, hooks.mappings.slice(0, index)),
      ...checkPath(source, hooks.path),
      ...checkTemplates(source),
      ...checkSettings(source),
      ...checkSessionKey(source, hooks),
      ...checkReply(source, config),
      ...checkModel(source, config.agents),
      ...checkAuth(source, config, drivers.providers),
    ].map((finding) => (isWithin(finding.key, source.key) ? { ...finding, file: source.file } : finding)),
  );
}

function checkId(source: MappingSource, earlier: MappingSource[]): Finding[] {
  const first = earlier.find(({ id }) => id === source.id);
  if (!first) return [];
  if (source.preset === undefined || first.preset !== undefined) {
    return [error(`${source.key}.id`, `"${source.id}" is already the id of ${first.key}`)];
  }
  // Nobody can change the preset's own file.
  const message = `"${source.id}" is also the id of a mapping of the preset "${source.preset}": choose another`;
  return [error(`${first.key}.id`, message)];
}

function checkPath({ mapping, key }: MappingSource, hooksPath: string): Finding[] {
  const name = trimSlashes(mapping.match?.path ?? "");
  const at = `${key}.match.path`;
  if (BUILT_IN_HOOKS.some((builtIn) => builtIn === name)) {
    return [warning(at, `is never reached: the service answers ${name} itself`)];
  }
  if (!`/${name}`.startsWith(`${hooksPath}/`)) return [];
  const meant = name.slice(hooksPath.length);
  return [warning(at, `means ${hooksPath}/${name}: hooks.path is put in front, so write "${meant}" for /${name}`)];
}

/** A mapping with a transform needs no template, and may make either kind of action. */
function checkTemplates({ mapping, key }: MappingSource): Finding[] {
  if (mapping.transform) return [];
  const { action = "agent" } = mapping;
  const [needed, unused] =
    action === "agent"
      ? (["messageTemplate", "textTemplate"] as const)
      : (["textTemplate", "messageTemplate"] as const);
  const message = `${needed} is required for action "${action}" (or set transform)`;
  return [
    ...(mapping[needed]?.trim() ? [] : [error(key, message)]),
    ...findUnused(key, mapping, [unused], `: action "${action}" uses ${needed}`),
  ];
}

/** A wake makes no run, and without an agent nobody reads what is for one. */
function checkSettings({ mapping, key }: MappingSource): Finding[] {
  const { transform, action, agent, channel } = mapping;
  const ofRuns = ["concurrency", "rateLimit", "coalesce", "agent"] as const;
  const ofAgents = ["instructions", "model", "thinking", "timeoutSeconds"] as const;
  return [
    ...(transform || action !== "wake" ? [] : findUnused(key, mapping, ofRuns, " on a wake: it is for agent runs")),
    ...(agent === "none" ? findUnused(key, mapping, ofAgents, ': agent "none" asks no agent') : []),
    ...(mapping.update && !transform && staticText(channel) !== SOURCE_CHANNEL
      ? [warning(`${key}.update`, 'has no effect: it is for the channel "source"')]
      : []),
  ];
}

/** Static channel names are configured; that of `source` only has to be if replies go there. */
function checkReply({ mapping, key }: MappingSource, config: ResolvedConfig): Finding[] {
  const channel = staticText(mapping.channel);
  const at = `${key}.channel`;
  if (channel === undefined) return [];
  if (channel !== SOURCE_CHANNEL) return checkChannel(at, channel, config, ["last"]);
  if (!mapping.source) return [error(at, 'is "source", but no source is set: add source: { channel, to }')];
  const written = staticText(mapping.source.channel);
  const name = written && toChannelName(written);
  if (name === undefined || Object.hasOwn(config.channels, name)) return [];
  return config.channelNames.includes(name)
    ? [error(at, `is the channel "${name}", which is not configured: add a channels.${name} block`)]
    : [error(`${key}.source.channel`, `there is no channel "${name}"${didYouMean(name, config.channelNames)}`)];
}

/** A static model is on the enforced list: otherwise each of its requests would get a 400. */
function checkModel({ mapping, key }: MappingSource, { models }: ResolvedConfig["agents"]): Finding[] {
  const model = staticText(mapping.model)?.trim();
  return model && models ? checkListed(`${key}.model`, model, models) : [];
}

type Hooks = ResolvedConfig["hooks"];

/** The default session key is not the main session's, and has an allowed prefix. */
export function checkDefaultSessionKey({ hooks }: ResolvedConfig): Finding[] {
  const key = "hooks.defaultSessionKey";
  const { defaultSessionKey: written } = hooks;
  if (written === undefined) return [];
  const isMain = written.trim() === MAIN_SESSION;
  const message = `must not be "${MAIN_SESSION}": hooks run in sessions of their own`;
  return [...(isMain ? [error(key, message)] : []), ...checkPrefix(key, written, hooks)];
}

/** A session key can have one of `hooks.allowedSessionKeyPrefixes`: otherwise each of its requests would get a 400. */
function checkSessionKey({ mapping: { sessionKey }, key, preset }: MappingSource, hooks: Hooks): Finding[] {
  if (sessionKey === undefined) return [];
  const at = `${key}.sessionKey`;
  const isRefused = staticText(sessionKey) === undefined && !hooks.allowRequestSessionKey;
  const message = "is a template, so the request chooses the key, which hooks.allowRequestSessionKey refuses";
  return [...checkPrefix(at, sessionKey, hooks, preset), ...(isRefused ? [warning(at, message)] : [])];
}

function checkPrefix(key: string, written: string, { allowedSessionKeyPrefixes: allowed }: Hooks, preset?: string) {
  const start = literalStart(written);
  const isTemplate = staticText(written) === undefined;
  const canStartWith = (prefix: string): boolean =>
    start.startsWith(prefix) || (isTemplate && prefix.startsWith(start));
  if (allowed.length === 0 || allowed.some(canStartWith)) return [];
  return preset === undefined
    ? [error(key, `must start with one of hooks.allowedSessionKeyPrefixes: ${allowed.join(", ")}`)]
    : [error("hooks.allowedSessionKeyPrefixes", `refuses every session key of the preset "${preset}": add "${start}"`)];
}

/** A template that is one `{{#if …}}` as a whole gives no key where the condition does not hold. */
const CONDITIONAL = /^\{\{#if [^{}]*\}\}((?:(?!\{\{(?:else|\^|\/if)).)*)\{\{\/if\}\}$/s;

/** The common start of all keys of a template: its text up to the first placeholder. */
function literalStart(template: string): string {
  const [, body = template] = CONDITIONAL.exec(template.trim()) ?? [];
  return body.split(/\\?\{\{/, 1)[0]?.trim() ?? "";
}
