import { listFound } from "../../shared/found.ts";
import { appendSegment, isWithin } from "../../shared/json.ts";
import { BUILT_IN_HOOKS, MAIN_SESSION } from "../../types.ts";
import { SOURCE_CHANNEL, channelKind, toChannelName } from "../../shared/channel-names.ts";
import { literalStart } from "../../shared/template-values.ts";
import { trimSlashes } from "../../shared/text/text.ts";
import type { Drivers } from "../plugins.ts";
import type { MappingInput } from "../schema/generated.ts";
import { COMPAT_SETTINGS, listNeeding } from "../settings.ts";
import type { MappingSource, ResolvedConfig } from "../resolved-config.ts";
import { checkFallbackModels, checkThinking, checkUsedModel } from "./agents.ts";
import { checkAuth } from "./auth.ts";
import { checkGrants } from "./call-grants.ts";
import { checkPublish } from "./mcp.ts";
import { checkSchedule } from "./schedules.ts";
import { checkWorkspace } from "./workspaces.ts";
import {
  checkChannel,
  describeMissingChannel,
  error,
  type Finding,
  findUnused,
  listAccounts,
  staticText,
  warning,
} from "./finding.ts";

/** Every mapping can be reached, can make an action, has a unique id, and names channels and models that may be used. */
export function checkMappings(config: ResolvedConfig, drivers: Drivers): Finding[] {
  const { hooks } = config;
  return hooks.mappings.flatMap((source, index) =>
    [
      ...checkId(source, hooks.mappings.slice(0, index)),
      ...checkSchedule(source),
      ...checkPath(source, hooks.path),
      ...checkCompat(source, hooks.compat),
      ...checkBody(source, hooks.mappings),
      ...checkTemplates(source),
      ...checkSettings(source),
      ...checkState(source),
      ...checkSessionKey(source, hooks),
      ...listReplies(source.mapping, source.key).flatMap((reply) => checkReply(reply, source, config)),
      ...checkPlace(source),
      ...checkFiles(source, config),
      ...checkReview(source),
      ...checkRecipient(source, config),
      ...checkModel(source, config.agents),
      ...checkPublish(source, config),
      ...checkGrants(`${source.key}.grants`, source.mapping, config, source),
      ...checkWorkspace(source, config),
      ...checkAuth(source, config, drivers.providers),
    ].map((finding) => (isWithin(finding.key, source.key) ? { ...finding, file: source.file } : finding)),
  );
}

function checkId(source: MappingSource, earlier: MappingSource[]): Finding[] {
  const first = earlier.find(({ id }) => id === source.id);
  if (!first) return [];
  if (source.preset === undefined || first.preset !== undefined) {
    return [
      error(`${source.key}.id`, `"${source.id}" is already the id of ${first.key}. Choose another id.`, first.key),
    ];
  }
  // Nobody can change the preset's own file.
  const message = `"${source.id}" is also the id of a mapping of the preset "${source.preset}". Choose another id.`;
  return [error(`${first.key}.id`, message)];
}

function checkPath({ mapping, key }: MappingSource, hooksPath: string): Finding[] {
  const name = trimSlashes(mapping.match?.path ?? "");
  const at = mapping.schedule ? `${key}.id` : `${key}.match.path`;
  const flaw = findPathFlaw(mapping.match?.path ?? "");
  if (flaw !== undefined) return [error(at, `No request has this path: ${flaw}`)];
  if (mapping.schedule) return [];
  if (BUILT_IN_HOOKS.some((builtIn) => builtIn === name)) {
    return [error(at, `This path is never reached: the service answers ${name} itself. Choose another path.`)];
  }
  if (!`/${name}`.startsWith(`${hooksPath}/`)) return [];
  const meant = name.slice(hooksPath.length);
  const message = `This path means ${hooksPath}/${name}, because hooks.path is put in front. Write "${meant}" for /${name}.`;
  return [warning(at, message)];
}

/** Why a path can never match. Paths are compared decoded, without the query. */
function findPathFlaw(written: string): string | undefined {
  const name = trimSlashes(written);
  const odd = name.split("/").find((segment) => /^\.{0,2}$/.test(segment));
  if (name !== "" && odd !== undefined) return `the part "${odd}" is refused. Write names between single slashes.`;
  if (/[?#]/.test(name))
    return "it ends before ? and #. Compare the query in a transform, or fields with match.payload.";
  if (/%[\da-f]{2}/i.test(name)) return "it is decoded before it is compared. Write the characters themselves.";
  return undefined;
}

function checkCompat({ mapping, key }: MappingSource, compat: ResolvedConfig["hooks"]["compat"]): Finding[] {
  if (compat === "openclaw") return [];
  const fields = COMPAT_SETTINGS.filter((field) => mapping[field] !== undefined);
  const message = 'This is a field of OpenClaw. Set hooks.compat to "openclaw" to use it.';
  return fields.map((field) => error(`${key}.${field}`, message));
}

/** The body is parsed before a mapping is chosen. */
function checkBody({ mapping, key }: MappingSource, mappings: MappingSource[]): Finding[] {
  if (mapping.body === undefined) return [];
  const at = `${key}.body`;
  const pathOf = ({ match }: MappingInput): string => trimSlashes(match?.path ?? "");
  const path = pathOf(mapping);
  if (path === "") return [error(at, "This setting needs match.path: it is about all bodies that are sent there.")];
  const other = mappings.find((one) => pathOf(one.mapping) === path && one.mapping.body !== mapping.body);
  if (!other) return [];
  return [error(at, `All mappings of the path "${path}" must have the same body. That of "${other.id}" is another.`)];
}

/** A mapping with a transform needs no template, and may make either kind of action. */
function checkTemplates({ mapping, key }: MappingSource): Finding[] {
  if (mapping.transform || mapping.action === "none") return [];
  const { action = "agent" } = mapping;
  const [needed, unused] =
    action === "agent"
      ? (["messageTemplate", "textTemplate"] as const)
      : (["textTemplate", "messageTemplate"] as const);
  const message = `The action "${action}" requires ${needed} or a transform. Set one of them.`;
  return listFound(
    !mapping[needed]?.trim() && error(key, message),
    findUnused(key, mapping, [unused], `: the action "${action}" uses ${needed}. Remove it.`),
  );
}

function checkState({ mapping, key, preset }: MappingSource): Finding[] {
  if (!mapping.state) return [];
  const at = `${key}.state`;
  if (!mapping.transform) return [error(at, "Only a transform has a state. Add transform, or remove this setting.")];
  if (mapping.state !== true || mapping.id !== undefined || preset !== undefined) return [];
  const message = "The state belongs to the mapping's id, which is its place in the list. Add id, so that it can move.";
  return [warning(at, message)];
}

/** A wake makes no run, and without an agent nobody reads what is for one. */
function checkSettings({ mapping, key }: MappingSource): Finding[] {
  const { transform, action, agent, onFailure, deliver } = mapping;
  const replies = listReplies(mapping, key);
  const misplaced = replies.filter(
    ({ update, channel }) => update && !transform && staticText(channel) !== SOURCE_CHANNEL,
  );
  const isUnheard = onFailure !== undefined && !transform && !replies.some(({ channel }) => mayBeSource(channel));
  const repeated = Array.isArray(deliver) ? OF_TARGETS.filter((field) => mapping[field]) : [];
  return listFound(
    !transform && action === "wake" && findUnused(key, mapping, listNeeding("run"), " on a wake. Remove it."),
    agent === "none" && findUnused(key, mapping, listNeeding("agent"), ': agent "none" asks no agent. Remove it.'),
    misplaced.map((reply) =>
      error(`${reply.key}.update`, 'This setting is only for the channel "source". Set that channel, or remove it.'),
    ),
    isUnheard &&
      error(`${key}.onFailure`, 'This text goes to the place of the event. Set the channel "source", or remove it.'),
    repeated.map((field) =>
      error(`${key}.${field}`, "deliver is a list, and each of its targets has this setting. Remove it here."),
    ),
  );
}

const OF_TARGETS = ["channel", "to", "update", "thread"] as const;

/** A template may render it. */
export function mayBeSource(channel: string | undefined): boolean {
  return channel !== undefined && (staticText(channel) ?? SOURCE_CHANNEL) === SOURCE_CHANNEL;
}

interface Reply {
  channel?: string;
  to?: string;
  update?: boolean;
  thread?: "session";
  key: string;
}

/** Where a mapping sends replies, each with the key that its settings are below. */
export function listReplies({ deliver, channel, to, update, thread }: MappingInput, key: string): Reply[] {
  if (!Array.isArray(deliver)) return [{ channel, to, update, thread, key }];
  return deliver.map((target, index) => ({ ...target, key: `${key}.deliver[${index}]` }));
}

/** Static channel names are configured; that of `source` only has to be if replies go there. */
function checkReply(reply: Reply, { mapping, key }: MappingSource, config: ResolvedConfig): Finding[] {
  const channel = staticText(reply.channel);
  const at = `${reply.key}.channel`;
  if (channel === undefined) return [];
  if (channel !== SOURCE_CHANNEL) return checkChannel(at, channel, config, ["last"]);
  if (!mapping.source) return [error(at, 'The channel is "source", but none is set. Add source: { channel, to }.')];
  const written = staticText(mapping.source.channel);
  const name = written && toChannelName(written);
  if (name === undefined || Object.hasOwn(config.channels, name)) return [];
  if (!config.channelNames.includes(channelKind(name))) return checkChannel(`${key}.source.channel`, name, config);
  const accounts = listAccounts(name, config);
  const advice =
    accounts.length > 0
      ? `which is not configured, but these are: ${accounts.join(", ")}. Name one of them, for a preset by with: { account }.`
      : `which is not configured: add a ${appendSegment("channels", name)} block.`;
  return [error(at, `The source is on the channel "${name}", ${advice}`)];
}

/** `place` is compared with the recipient of `source`. */
function checkPlace({ mapping: { place, source }, key }: MappingSource): Finding[] {
  if (place === undefined || source) return [];
  return [error(`${key}.place`, "Without source, nothing says where an event is. Add source, or remove place.")];
}

/** Files that are neither on public hosts, in a mailbox nor in the event itself are read with the credential of the source's channel. */
function checkFiles({ mapping, key }: MappingSource, config: ResolvedConfig): Finding[] {
  const { files, attachments = [], source } = mapping;
  const at = `${key}.files`;
  if (files && config.hooks.mail.length === 0 && attachments.some(({ mailbox }) => mailbox !== undefined))
    return [warning(at, "The files cannot be read: hooks.mail has no mailbox.")];
  const ofChannel = attachments.filter((one) => !one.hosts && one.content === undefined && one.mailbox === undefined);
  if (!files || ofChannel.length === 0) return [];
  if (!source)
    return [warning(at, "No file can be read: set hosts in attachments, or a source whose channel has them.")];
  const written = staticText(source.channel);
  const name = written && toChannelName(written);
  if (name === undefined || Object.hasOwn(config.channels, name)) return [];
  return [warning(at, `The files cannot be read. ${describeMissingChannel(name, config)}`)];
}

/** A review goes to the place of the event, and is about the commit that the event names. */
function checkReview({ mapping, key }: MappingSource): Finding[] {
  const { review, source, transform } = mapping;
  if (review === undefined) return [];
  const replies = listReplies(mapping, key);
  const at = `${key}.review`;
  const isElsewhere = ({ channel = "last" }: Reply): boolean =>
    staticText(channel) !== undefined && staticText(channel) !== SOURCE_CHANNEL;
  if (!transform && replies.every(isElsewhere)) {
    return [error(at, 'A review goes to the place of the event. Set channel: "source", or remove review.')];
  }
  const updates = replies.filter(({ update }) => update);
  return listFound(
    source &&
      source.commit === undefined &&
      error(at, "The source names no commit that could be reviewed. Add source.commit, or remove review."),
    updates.map((reply) =>
      error(`${reply.key}.update`, "A review replaces no earlier reply. Remove update or review."),
    ),
  );
}

/** A sender that chooses the recipient should choose among some. */
function checkRecipient({ mapping, key }: MappingSource, config: ResolvedConfig): Finding[] {
  const { deliver = true, action = "agent" } = mapping;
  if (!deliver || action === "wake") return [];
  return listReplies(mapping, key).flatMap((reply) => checkReplyRecipient(reply, config));
}

function checkReplyRecipient({ to, channel, key }: Reply, { channels, channelRules }: ResolvedConfig): Finding[] {
  if (to === undefined || staticText(to) !== undefined) return [];
  const written = toChannelName(staticText(channel) ?? "last");
  const open = Object.keys(channels).find(
    (name) => (written === "last" || written === name) && channelRules.get(name)?.allow === undefined,
  );
  if (open === undefined) return [];
  const message = `The recipient is a template, so the sender chooses it. List those that it may choose in channels.${open}.allow.`;
  return [warning(`${key}.to`, message)];
}

/** A static model, and a thinking level, can be used: otherwise each of its requests would get a 400, or another agent's reply. */
function checkModel({ mapping, key }: MappingSource, agents: ResolvedConfig["agents"]): Finding[] {
  const model = staticText(mapping.model)?.trim();
  return listFound(
    model && checkUsedModel(`${key}.model`, model, agents),
    checkFallbackModels(`${key}.fallbackModels`, mapping.fallbackModels, agents),
    checkThinking(`${key}.thinking`, staticText(mapping.thinking), agents),
  );
}

type Hooks = ResolvedConfig["hooks"];

/** The default session key is not the main session's, and has an allowed prefix. */
export function checkDefaultSessionKey({ hooks }: ResolvedConfig): Finding[] {
  const key = "hooks.defaultSessionKey";
  const { defaultSessionKey: written } = hooks;
  if (written === undefined) return [];
  const isMain = written.trim() === MAIN_SESSION;
  const message = `The session key must not be "${MAIN_SESSION}", because hooks run in other sessions. Choose another.`;
  return listFound(isMain && error(key, message), checkPrefix(key, written, hooks));
}

/** A session key can have one of `hooks.allowedSessionKeyPrefixes`: otherwise each of its requests would get a 400. */
function checkSessionKey({ mapping: { sessionKey }, key, preset, hasOwnKey }: MappingSource, hooks: Hooks): Finding[] {
  if (sessionKey === undefined) return [];
  const at = `${key}.sessionKey`;
  const isRefused = staticText(sessionKey) === undefined && !hasOwnKey && !hooks.allowRequestSessionKey;
  const message =
    "The session key is a template, so the request chooses it, which hooks.allowRequestSessionKey does not allow. Set that to true, or write a fixed key.";
  return listFound(checkPrefix(at, sessionKey, hooks, preset), isRefused && warning(at, message));
}

function checkPrefix(key: string, written: string, { allowedSessionKeyPrefixes: allowed }: Hooks, preset?: string) {
  const start = literalStart(written);
  const isTemplate = staticText(written) === undefined;
  const canStartWith = (prefix: string): boolean =>
    start.startsWith(prefix) || (isTemplate && prefix.startsWith(start));
  if (allowed.length === 0 || allowed.some(canStartWith)) return [];
  return preset === undefined
    ? [error(key, `The session key must start with one of hooks.allowedSessionKeyPrefixes: ${allowed.join(", ")}.`)]
    : [error("hooks.allowedSessionKeyPrefixes", `No session key of the preset "${preset}" has one. Add "${start}".`)];
}
