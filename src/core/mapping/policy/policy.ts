import type { ChannelDriver } from "../../ports/channel.ts";
import type { StoredSettings } from "../../config/settings.ts";
import type { ResolvedConfig } from "../../config/resolved-config.ts";
import { HookError, messageOf } from "../../errors.ts";
import { createId } from "../../shared/id.ts";
import { SOURCE_CHANNEL } from "../../shared/channel-names.ts";
import { type AgentAction, type HookAction, MAIN_SESSION, type ReplyTarget, type RouteOrigin } from "../../types.ts";
import { type Draft, textOf } from "../draft.ts";
import { compileGlobs } from "../pattern.ts";
import { MAX_SESSION_KEY_LENGTH, type SessionScope, toScopedKey } from "./session-keys.ts";
import { isPrivate, type TargetDraft } from "./targets.ts";

/** The operator's limits and settings for an action. */
export interface Terms extends Pick<AgentAction, "review"> {
  config: ResolvedConfig;
  /** The configured channels; undefined: no driver is asked, and only names and `allow` count. */
  channels: ReadonlyMap<string, ChannelDriver> | undefined;
  /** The mapping switches the safety boundary off. */
  allowsUnsafe: boolean;
  instructions?: string;
  /** The settings of the mapping that are stored with its turns. */
  stored?: StoredSettings;
  /** The name that the operator wrote: a static one, or the path of the hook. */
  trustedName?: string;
  routeBy(target: TargetDraft): RouteOrigin | undefined;
  /** Whether the request chose the session key, in its payload, through a template or through a transform. */
  isRequestedKey(key: string): boolean;
  /** Whether the configuration has the whole key. Absent: no. */
  isWrittenKey?(key: string): boolean;
  /** The sessions that the request can lead to. Absent: any. */
  sessions?: SessionScope;
  /** The session that the event continues, in place of any key. */
  continues?: string;
  /** An action without a session key gets its own session, rather than the default one. */
  ownSession?: boolean;
}

/** Turns the draft into an action. That of a turn has a target at least. Throws a `HookError` that names the field if policy refuses it. */
export function toAction(draft: Draft, terms: Terms): HookAction {
  const { allowUnsafeExternalContent, mode } = draft;
  if (allowUnsafeExternalContent && !terms.allowsUnsafe) throw new HookError("unsafe_content_refused");
  const { instructions } = terms;
  if (draft.kind === "none") return { kind: "none", allowUnsafeExternalContent };
  if (draft.kind === "agent") return { ...toAgentFields(draft, terms), allowUnsafeExternalContent, instructions };
  return { kind: "wake", text: requireText(draft), mode, allowUnsafeExternalContent, instructions };
}

/** How a turn runs, as it is stored with its action. */
export type TurnSettings = Pick<AgentAction, "model" | "thinking" | "timeoutSeconds">;

type Agents = ResolvedConfig["agents"];

/** The only place that decides model, thinking level and timeout: what was requested or the default, aliases resolved. */
export function resolveTurnSettings(
  requested: Partial<TurnSettings>,
  agents: Pick<Agents, "model" | "models" | "thinking" | "timeoutSeconds">,
): TurnSettings {
  return {
    model: resolveAlias(requested.model ?? agents.model, agents),
    thinking: requested.thinking ?? agents.thinking,
    timeoutSeconds: requested.timeoutSeconds ?? agents.timeoutSeconds,
  };
}

type AnswerSettings = Pick<AgentAction, "fallbackModels" | "maxOutputTokens">;

/**
 * The same for what is decided when the turn starts: a fallback model that is configured during an outage helps the runs
 * that wait.
 */
export function resolveAnswerSettings(
  requested: AnswerSettings,
  agents: Pick<Agents, "models" | "fallbackModels" | "maxOutputTokens">,
): AnswerSettings & { fallbackModels: string[] } {
  const fallbackModels = requested.fallbackModels ?? agents.fallbackModels ?? [];
  return {
    fallbackModels: fallbackModels.map((model) => resolveAlias(model, agents)),
    maxOutputTokens: requested.maxOutputTokens ?? agents.maxOutputTokens,
  };
}

function resolveAlias<Model extends string | undefined>(
  model: Model,
  { models }: Pick<Agents, "models">,
): Model | string {
  return models?.find(({ alias }) => alias !== undefined && alias === model)?.id ?? model;
}

/** While there is no provider, the built-in `echo` answers for every model that a request names. */
export function findUnusedModels(actions: HookAction[], { agents }: ResolvedConfig): string[] {
  if (Object.keys(agents.providers).length > 0) return [];
  return actions.some((action) => action.kind === "agent" && action.model !== undefined) ? [UNUSED_MODEL] : [];
}

const UNUSED_MODEL = "The model was not used: no provider is configured, so the built-in echo answers.";

function toAgentFields(draft: Draft, terms: Terms): Omit<AgentAction, "allowUnsafeExternalContent"> {
  const { config, isRequestedKey, ownSession, trustedName } = terms;
  const { name, sessionKey, mode: wakeMode, deliver, timeoutSeconds } = draft;
  const model = requireAllowedModel(requireShort("model", draft.model), config.agents);
  const thinking = requireShort("thinking", draft.thinking);
  const [first, ...more] = (draft.targets ?? []).map((target) => toReplyTarget(target, { deliver, terms }));
  const moreTargets = more.filter((target, index) => ![first, ...more.slice(0, index)].some(isSameAs(target)));
  return {
    kind: "agent",
    message: requireText(draft),
    name,
    trustedName: name === trustedName || undefined,
    sessionKey:
      terms.continues ??
      (sessionKey === undefined
        ? ((ownSession ? undefined : config.hooks.defaultSessionKey) ?? `hook:${createId()}`)
        : withoutMain(scopedKey(requireSessionKey(sessionKey, isRequestedKey(sessionKey), config.hooks), terms))),
    wakeMode,
    deliver,
    ...first!,
    moreTargets: moreTargets.length > 0 ? moreTargets : undefined,
    isolated: (config.hooks.compat === "openclaw" && draft.sessionMode === "isolated") || undefined,
    ...resolveTurnSettings({ model, thinking, timeoutSeconds }, config.agents),
    ...terms.stored,
    review: terms.review,
    grants: draft.grants,
  };
}

function toReplyTarget(
  target: TargetDraft,
  { deliver, terms: { config, channels, routeBy } }: { deliver: boolean; terms: Terms },
): ReplyTarget {
  const { toSource, references, subject, commit, update, thread, isOwnRecipient } = target;
  const channel = requireChannel(target.channel, config);
  const to = requireShort("to", target.to);
  // The place of an event has been checked.
  if (!toSource && channel !== SOURCE_CHANNEL) {
    const needsNoAllow = !deliver || isOwnRecipient;
    const refusal = findUndeliverable({ channel, to, needsNoAllow }, { config, channels });
    if (refusal) throw invalid(refusal.message, refusal.cause);
  }
  return {
    channel,
    to,
    routeBy: toSource ? undefined : routeBy(target),
    toSource,
    addressee: toSource && to !== undefined ? addressOf(channel, to, channels).toLowerCase() : undefined,
    references: toSource && references,
    subject: toSource && subject,
    commit: toSource && commit,
    update: (toSource && update) || undefined,
    thread,
    isPrivate: isPrivate(target, config.channelRules.get(channel)?.audience) || undefined,
  };
}

function isSameAs({ channel, to }: ReplyTarget) {
  return (other: ReplyTarget | undefined): boolean => other?.channel === channel && other.to === to;
}

function requireText(draft: Draft): string {
  const text = textOf(draft);
  if (text !== undefined && text.trim() !== "") return text;
  const field = draft.kind === "wake" ? "text" : "message";
  const message = `${field} is blank: the hook's ${field}Template finds nothing in this payload.`;
  throw new HookError("empty_message", { message });
}

function requireChannel(name: string, { channelNames }: ResolvedConfig): AgentAction["channel"] {
  if (name === "last" || name === SOURCE_CHANNEL || channelNames.includes(name)) return name;
  throw invalid(`channel must be one of last, ${channelNames.join(", ")}.`);
}

interface Recipient {
  channel: string;
  to: string | undefined;
  /** Allowed without the channel's `allow`. */
  needsNoAllow: boolean;
}

/** Why nothing can be sent there, as far as that is known before the turn. The route of `last` is not known yet. */
export function findUndeliverable(
  { channel, to, needsNoAllow }: Recipient,
  { config, channels }: Pick<Terms, "config" | "channels">,
): { message: string; cause?: unknown } | undefined {
  const driver = channels?.get(channel);
  if (channels && !driver && channel !== "last") return { message: `channel ${channel} is not configured.` };
  if (to === undefined) return undefined;
  try {
    driver?.checkRecipient(to);
  } catch (cause) {
    return { message: `to is not a recipient on ${channel}. ${messageOf(cause)}`, cause };
  }
  if (needsNoAllow || isAllowedRecipient(channel, to, { config, channels })) return undefined;
  return { message: `to is not among the recipients of channels.${channel}.allow.` };
}

/** A channel that writes into other services takes a recipient of the payload's choice only if its block allows it. */
export function isAllowedRecipient(
  channel: string,
  to: string,
  { config, channels }: Pick<Terms, "config" | "channels">,
): boolean {
  const allowed = config.channelRules.get(channel)?.allow;
  return allowed ? compileGlobs(allowed)(addressOf(channel, to, channels)) : !channels?.get(channel)?.needsAllow;
}

/** A recipient without its thread. */
function addressOf(channel: string, to: string, channels: Terms["channels"]): string {
  return channels?.get(channel)?.addressOf?.(to) ?? to;
}

/** In characters. */
export const MAX_LENGTHS = { to: 512, model: 256, thinking: 64 } as const;

function requireShort(field: keyof typeof MAX_LENGTHS, text: string | undefined): string | undefined {
  if (text === undefined || text.length <= MAX_LENGTHS[field]) return text;
  throw invalid(`${field} can have ${MAX_LENGTHS[field]} characters at most.`);
}

function invalid(message: string, cause?: unknown): HookError {
  return new HookError("invalid_payload", { message, cause });
}

function requireAllowedModel(
  name: string | undefined,
  { models }: Pick<ResolvedConfig["agents"], "models">,
): string | undefined {
  if (name === undefined || !models || models.some(({ id, alias }) => id === name || alias === name)) return name;
  throw new HookError("model_not_allowed");
}

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** `key` is trimmed. */
function requireSessionKey(key: string, byRequest: boolean, hooks: ResolvedConfig["hooks"]): string {
  if (byRequest && !hooks.allowRequestSessionKey) throw keyRefused("cannot be chosen by a request", BY_REQUEST);
  if (key.length > MAX_SESSION_KEY_LENGTH) {
    throw keyRefused(`can have ${MAX_SESSION_KEY_LENGTH} characters at most`);
  }
  if (CONTROL.test(key) || !key.isWellFormed()) throw keyRefused("must not contain control characters");
  const prefixes = hooks.allowedSessionKeyPrefixes;
  if (prefixes.length > 0 && !prefixes.some((prefix) => key.startsWith(prefix))) {
    throw keyRefused("does not start with an allowed prefix");
  }
  return key;
}

function scopedKey(key: string, { sessions, isWrittenKey }: Terms): string {
  return isWrittenKey?.(key) ? key : toScopedKey(key, sessions);
}

/** Hooks have their own key space: a key that reads like the main session's becomes another one. */
function withoutMain(key: string): string {
  return key.toLowerCase() === MAIN_SESSION ? `hook:${MAIN_SESSION}` : key;
}

const BY_REQUEST =
  "hooks.allowRequestSessionKey is false, so a session key from a payload, a template or a transform is refused. " +
  "If the transform chooses keys by itself, set sessionPrefix on the mapping to what they begin with.";

function keyRefused(reason: string, detail?: string): HookError {
  return new HookError("session_key_refused", { message: `sessionKey ${reason}.`, detail: { message: detail } });
}
