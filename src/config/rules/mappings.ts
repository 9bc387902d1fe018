import { toChannelName } from "../../shared/text.ts";
import { BUILT_IN_HOOKS, MAIN_SESSION, SOURCE_CHANNEL } from "../../types.ts";
import { didYouMean } from "../schema/problems.ts";
import { trimSlashes } from "../resolve.ts";
import { error, type Finding, warning } from "./finding.ts";
import type { MappingSource, ResolvedConfig } from "../types.ts";

/** Every mapping can be reached, can make an action, and has a unique id. */
export function checkMappings(config: ResolvedConfig): Finding[] {
  const { hooks } = config;
  return hooks.mappings.flatMap((source, index) =>
    [
      ...checkId(source, hooks.mappings.slice(0, index)),
      ...checkPath(source, hooks.path),
      ...checkTemplates(source),
      ...checkRunSettings(source),
      ...checkAgentSettings(source),
      ...checkSource(source, config),
    ].map((finding) => ({ ...finding, file: source.file })),
  );
}

function checkId(source: MappingSource, earlier: MappingSource[]): Finding[] {
  const first = earlier.find(({ id }) => id === source.id);
  return first ? [error(`${source.key}.id`, `"${source.id}" is already the id of ${first.key}`)] : [];
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
  const action = mapping.action ?? "agent";
  const [needed, unused] =
    action === "agent"
      ? (["messageTemplate", "textTemplate"] as const)
      : (["textTemplate", "messageTemplate"] as const);
  const findings: Finding[] = [];
  if (!mapping[needed]?.trim()) {
    findings.push(error(key, `${needed} is required for action "${action}" (or set transform)`));
  }
  if (mapping[unused] !== undefined) {
    findings.push(warning(`${key}.${unused}`, `has no effect: action "${action}" uses ${needed}`));
  }
  return findings;
}

/** A wake makes no run, so the limits of runs do not apply to it. */
function checkRunSettings({ mapping, key }: MappingSource): Finding[] {
  if (mapping.transform || mapping.action !== "wake") return [];
  return (["concurrency", "rateLimit", "coalesce", "agent"] as const)
    .filter((setting) => mapping[setting] !== undefined)
    .map((setting) => warning(`${key}.${setting}`, "has no effect on a wake: it is for agent runs"));
}

/** The channel of `source` only has to be configured if replies go there. */
function checkSource({ mapping, key }: MappingSource, { channels, channelNames }: ResolvedConfig): Finding[] {
  if (staticText(mapping.channel) !== SOURCE_CHANNEL) {
    return mapping.update && !mapping.transform
      ? [warning(`${key}.update`, 'has no effect: it is for the channel "source"')]
      : [];
  }
  const at = `${key}.channel`;
  if (!mapping.source) return [error(at, 'is "source", but no source is set: add source: { channel, to }')];
  const written = staticText(mapping.source.channel);
  const name = written && toChannelName(written);
  if (name === undefined || Object.hasOwn(channels, name)) return [];
  return channelNames.includes(name)
    ? [error(at, `is the channel "${name}", which is not configured: add a channels.${name} block`)]
    : [error(`${key}.source.channel`, `there is no channel "${name}"${didYouMean(name, channelNames)}`)];
}

function checkAgentSettings({ mapping, key }: MappingSource): Finding[] {
  if (mapping.agent !== "none") return [];
  return (["instructions", "model", "thinking", "timeoutSeconds"] as const)
    .filter((setting) => mapping[setting] !== undefined)
    .map((setting) => warning(`${key}.${setting}`, 'has no effect: agent "none" asks no agent'));
}

/** Session keys can have one of `hooks.allowedSessionKeyPrefixes`: otherwise each of their requests would get a 400. */
export function checkSessionKeys({ hooks }: ResolvedConfig): Finding[] {
  const prefixes = hooks.allowedSessionKeyPrefixes;
  const checkPrefix = (key: string, sessionKey: string | undefined, preset?: string): Finding[] => {
    if (sessionKey === undefined || canStartWithOne(sessionKey, prefixes)) return [];
    if (preset === undefined) {
      return [error(key, `must start with one of hooks.allowedSessionKeyPrefixes: ${prefixes.join(", ")}`)];
    }
    const message = `refuses every session key of the preset "${preset}": add "${literalStart(sessionKey)}"`;
    return [error("hooks.allowedSessionKeyPrefixes", message)];
  };

  return [
    ...checkMain(hooks.defaultSessionKey),
    ...checkPrefix("hooks.defaultSessionKey", hooks.defaultSessionKey),
    ...hooks.mappings.flatMap(({ mapping, key, file, preset }) => [
      ...checkPrefix(`${key}.sessionKey`, mapping.sessionKey, preset).map((finding) =>
        preset === undefined ? { ...finding, file } : finding,
      ),
      ...checkTemplate(`${key}.sessionKey`, mapping.sessionKey, hooks.allowRequestSessionKey).map((finding) => ({
        ...finding,
        file,
      })),
    ]),
  ];
}

function checkTemplate(key: string, template: string | undefined, allowed: boolean): Finding[] {
  if (allowed || template === undefined || staticText(template) !== undefined) return [];
  const message = "is a template, so the request chooses the key, which hooks.allowRequestSessionKey refuses";
  return [warning(key, message)];
}

function canStartWithOne(sessionKey: string, prefixes: string[]): boolean {
  const start = literalStart(sessionKey);
  const isStatic = staticText(sessionKey) !== undefined;
  return (
    prefixes.length === 0 ||
    prefixes.some((prefix) => start.startsWith(prefix) || (!isStatic && prefix.startsWith(start)))
  );
}

/** A template that is one `{{#if …}}` as a whole gives no key where the condition does not hold. */
const CONDITIONAL = /^\{\{#if [^{}]*\}\}((?:(?!\{\{(?:else|\^|\/if)).)*)\{\{\/if\}\}$/s;

/** The common start of all keys of a template: its text up to the first placeholder. */
function literalStart(template: string): string {
  const [, body = template] = CONDITIONAL.exec(template.trim()) ?? [];
  return body.split(/\\?\{\{/, 1)[0]?.trim() ?? "";
}

function checkMain(defaultSessionKey: string | undefined): Finding[] {
  return defaultSessionKey?.trim() === MAIN_SESSION
    ? [error("hooks.defaultSessionKey", `must not be "${MAIN_SESSION}": hooks run in sessions of their own`)]
    : [];
}

/** Static channel names are configured. */
export function checkChannelNames({ hooks, channels, channelNames }: ResolvedConfig): Finding[] {
  const checkChannel = (key: string, template: string | undefined): Finding[] => {
    const written = staticText(template);
    const name = written && toChannelName(written);
    if (name === undefined || name === "last" || name === SOURCE_CHANNEL || Object.hasOwn(channels, name)) return [];
    const message = channelNames.includes(name)
      ? `the channel "${name}" is not configured: add a channels.${name} block`
      : `there is no channel "${name}"${didYouMean(name, ["last", ...channelNames])}`;
    return [error(key, message)];
  };
  return [
    ...hooks.mail.flatMap(({ key, channel }) => checkChannel(`${key}.channel`, channel)),
    ...hooks.mappings.flatMap(({ mapping, key, file }) =>
      checkChannel(`${key}.channel`, mapping.channel).map((finding) => ({ ...finding, file })),
    ),
  ];
}

/** A mapping's static model is on the enforced list: otherwise each of its requests would get a 400. */
export function checkMappingModels({ hooks, agents: { models } }: ResolvedConfig): Finding[] {
  if (models === undefined) return [];
  const names = new Set(models.flatMap(({ id, alias }) => [id, alias]));
  return hooks.mappings.flatMap(({ mapping, key, file }) => {
    const model = staticText(mapping.model)?.trim();
    if (!model || names.has(model)) return [];
    const message = `"${model}" is not on the list agents.defaults.models, which is enforced`;
    return [{ ...error(`${key}.model`, message), file }];
  });
}

/** The text of a template that is the same for every request; undefined if it depends on the request. */
export function staticText(template: string | undefined): string | undefined {
  return template?.includes("{{") ? undefined : template;
}
