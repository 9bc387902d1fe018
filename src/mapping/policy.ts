import type { ChannelDriver } from "../channels/driver.ts";
import type { ActionOverride } from "../config/schema/generated.ts";
import type { ResolvedConfig } from "../config/types.ts";
import { HookError, messageOf } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { tidyText, toChannelName, toOneLine } from "../shared/text.ts";
import {
  type AgentAction,
  type HookAction,
  MAIN_SESSION,
  SOURCE_CHANNEL,
  type TemplateField,
  type WakeMode,
} from "../types.ts";
import type { CompiledMapping } from "./compile.ts";
import { compileGlobs } from "./match.ts";
import type { Budget } from "./template/template.ts";

/** What the operator allows and sets for an action. */
export interface Terms {
  config: ResolvedConfig;
  /** The configured channels; undefined: neither channel nor recipient is checked. */
  channels: ReadonlyMap<string, ChannelDriver> | undefined;
  /** The mapping switches the safety boundary off. */
  allowsUnsafe: boolean;
  instructions?: string;
  /** `none`: the mapping runs no agent. */
  agent?: AgentAction["agent"];
  /** The name that the operator wrote: a static one, or the path of the hook. */
  trustedName?: string;
  /** A later reply replaces the earlier one, with the channel `source`. */
  update?: boolean;
  /** Whether the operator wrote the recipient, or a verified event is its place. Any other one must be allowed. */
  isOwnRecipient(draft: FilledDraft): boolean;
  /** Whether the request chose the session key, in its payload, through a template or through a transform. */
  isRequestedKey(key: string): boolean;
  /** An action without a session key gets its own session, rather than the default one. */
  ownSession?: boolean;
}

/** Turns the draft into an action. Throws a `HookError` that names the field if policy refuses it. */
export function toAction(draft: FilledDraft, terms: Terms): HookAction {
  const { allowUnsafeExternalContent, mode } = draft;
  if (allowUnsafeExternalContent && !terms.allowsUnsafe) throw new HookError("unsafe_content_refused");
  const { instructions } = terms;
  if (draft.kind === "agent") return { ...toAgentFields(draft, terms), allowUnsafeExternalContent, instructions };
  return { kind: "wake", text: requireText(draft), mode, allowUnsafeExternalContent, instructions };
}

/** How a turn runs. */
export interface TurnSettings {
  /** `provider/model`; undefined: none is configured either. */
  model?: string;
  thinking?: string;
  timeoutSeconds: number;
}

/** The only place that decides model, thinking level and timeout: what was requested or the default, aliases resolved. */
export function resolveTurnSettings(
  requested: Partial<TurnSettings>,
  agents: Pick<ResolvedConfig["agents"], "model" | "models" | "thinking" | "timeoutSeconds">,
): TurnSettings {
  const model = requested.model ?? agents.model;
  return {
    model: agents.models?.find(({ alias }) => alias !== undefined && alias === model)?.id ?? model,
    thinking: requested.thinking ?? agents.thinking,
    timeoutSeconds: requested.timeoutSeconds ?? agents.timeoutSeconds,
  };
}

function toAgentFields(
  draft: FilledDraft,
  { config, channels, isOwnRecipient, isRequestedKey, ownSession, trustedName, agent, update }: Terms,
): Omit<AgentAction, "allowUnsafeExternalContent"> {
  const { name, sessionKey, mode: wakeMode, deliver, timeoutSeconds, toSource } = draft;
  const model = requireAllowedModel(requireShort("model", draft.model), config.agents);
  const thinking = requireShort("thinking", draft.thinking);
  const channel = requireChannel(draft.channel, config);
  const to = requireShort("to", draft.to);
  // The event names its source, not the mapping: if nothing is delivered there, the channel may be missing.
  const isSource = toSource || channel === SOURCE_CHANNEL;
  if (deliver || !isSource) requireDeliverable(channel, to, channels);
  const isTrusted = isOwnRecipient(draft) && !(toSource && channels?.get(channel)?.sourceNeedsAllow);
  if (deliver && to !== undefined && !isTrusted && !isAllowedRecipient(channel, to, { config, channels })) {
    throw invalid(`to is not among the recipients of channels.${channel}.allow.`);
  }
  return {
    kind: "agent",
    message: requireText(draft),
    agent,
    name,
    trustedName: name === trustedName || undefined,
    sessionKey:
      sessionKey === undefined
        ? ((ownSession ? undefined : config.hooks.defaultSessionKey) ?? `hook:${createId()}`)
        : requireSessionKey(sessionKey, isRequestedKey(sessionKey), config.hooks),
    wakeMode,
    deliver,
    channel,
    to,
    toSource,
    update: (toSource && update) || undefined,
    ...resolveTurnSettings({ model, thinking, timeoutSeconds }, config.agents),
  };
}

function requireText(draft: FilledDraft): string {
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

/** What would fail after the turn is refused before it. The route of `last` is not known yet. */
function requireDeliverable(channel: string, to: string | undefined, channels: Terms["channels"]): void {
  if (!channels || channel === "last") return;
  const driver = channels.get(channel);
  if (!driver) throw invalid(`channel ${channel} is not configured.`);
  if (to === undefined) return;
  try {
    driver.checkRecipient(to);
  } catch (error) {
    throw invalid(`to is not a recipient on ${channel}. ${messageOf(error)}`, error);
  }
}

/** A channel that writes into other services takes a recipient of the payload's choice only if its block allows it. */
export function isAllowedRecipient(
  channel: string,
  to: string,
  { config, channels }: Pick<Terms, "config" | "channels">,
): boolean {
  const allowed = config.channelRules.get(channel)?.allow;
  const driver = channels?.get(channel);
  return allowed ? compileGlobs(allowed)(driver?.addressOf?.(to) ?? to) : !driver?.needsAllow;
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

const MAX_KEY_LENGTH = 256;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** `key` is trimmed. Hooks have their own key space: a key that reads like the main session's becomes another one. */
function requireSessionKey(key: string, byRequest: boolean, hooks: ResolvedConfig["hooks"]): string {
  if (byRequest && !hooks.allowRequestSessionKey) throw keyRefused("cannot be chosen by a request", BY_REQUEST);
  if (key.length > MAX_KEY_LENGTH) throw keyRefused(`can have ${MAX_KEY_LENGTH} characters at most`);
  if (CONTROL.test(key) || !key.isWellFormed()) throw keyRefused("must not contain control characters");
  const prefixes = hooks.allowedSessionKeyPrefixes;
  if (prefixes.length > 0 && !prefixes.some((prefix) => key.startsWith(prefix))) {
    throw keyRefused("does not start with an allowed prefix");
  }
  return key.toLowerCase() === MAIN_SESSION ? `hook:${MAIN_SESSION}` : key;
}

const BY_REQUEST =
  "hooks.allowRequestSessionKey is false, so a session key from a payload, a template or a transform is refused. " +
  'If the transform chooses keys by itself, set transform.sessionKeys to "trusted".';

function keyRefused(reason: string, detail?: string): HookError {
  return new HookError("session_key_refused", { message: `sessionKey ${reason}.`, detail: { message: detail } });
}

/**
 * An action under construction, before defaults and policy. It can still become either kind, so it may hold fields of both;
 * `mode` is the `mode` of a wake or the `wakeMode` of an agent action.
 */
export interface Draft extends Settings {
  kind: HookAction["kind"];
  /** Any text, because a template can render anything. */
  channel?: string;
  mode?: WakeMode;
  /** The channel was `source`; `channel` and `to` now name its place. */
  toSource?: true;
}

type Settings = { [Field in Exclude<keyof Fields, "channel">]?: NonNullable<Fields[Field]> };
type Fields = Omit<ActionOverride, "kind" | "mode" | "wakeMode">;

/** A draft with the defaults that need no configuration. No field is blank, except the text or the message. */
export type FilledDraft = Draft &
  Required<Pick<Draft, "name" | "deliver" | "channel" | "mode" | "allowUnsafeExternalContent">>;

/** The draft that the mapping's settings and templates give, without its session key. */
export function renderDraft({ source, templates }: CompiledMapping, context: object, budget: Budget): Draft {
  const { mapping } = source;
  const render = (field: TemplateField): string | undefined => templates[field]?.render(context, budget);
  const renderText = (field: TemplateField): string | undefined => tidyText(render(field), mapping.maxMessageLength);
  return {
    kind: mapping.action ?? "agent",
    text: renderText("textTemplate"),
    message: renderText("messageTemplate"),
    name: render("name"),
    deliver: mapping.deliver,
    channel: render("channel"),
    to: render("to"),
    model: render("model"),
    thinking: render("thinking"),
    timeoutSeconds: mapping.timeoutSeconds,
    mode: mapping.wakeMode,
    allowUnsafeExternalContent: mapping.allowUnsafeExternalContent,
  };
}

export function fillDraft(draft: Draft, defaultName: string): FilledDraft {
  return {
    ...draft,
    name: (draft.name && toOneLine(draft.name)) || toOneLine(defaultName),
    sessionKey: blankToUndefined(draft.sessionKey),
    deliver: draft.deliver ?? true,
    channel: toChannelName(blankToUndefined(draft.channel) ?? "last"),
    to: blankToUndefined(draft.to),
    model: blankToUndefined(draft.model),
    thinking: blankToUndefined(draft.thinking),
    mode: draft.mode ?? "now",
    allowUnsafeExternalContent: draft.allowUnsafeExternalContent ?? false,
  };
}

/** The text of a wake or the message of an agent action. */
export function textOf({ kind, text, message }: Draft): string | undefined {
  return kind === "wake" ? text : message;
}

function blankToUndefined(text: string | undefined): string | undefined {
  return text?.trim() || undefined;
}
