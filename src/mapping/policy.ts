import type { ResolvedConfig } from "../config/types.ts";
import { HookError } from "../errors.ts";
import { createId } from "../shared/id.ts";
import { type AgentAction, CHANNEL_NAMES, type HookAction, MAIN_SESSION } from "../types.ts";
import { type FilledDraft, textOf } from "./draft.ts";

/** What an action may be, and what stands in where it says nothing. */
export interface Terms {
  config: ResolvedConfig;
  /** The mapping switches the safety boundary off. */
  allowsUnsafe: boolean;
  instructions?: string;
  /** The mapping asks no agent. */
  agent?: AgentAction["agent"];
  /** The session key that the request itself chose, by its payload or through a template. */
  requestedKey?: string;
}

/** The draft as an action that the operator's policy passes. Throws a 400 `HookError` that names the field it refuses. */
export function toAction(draft: FilledDraft, terms: Terms): HookAction {
  const { allowUnsafeExternalContent, mode } = draft;
  if (allowUnsafeExternalContent && !terms.allowsUnsafe) {
    throw new HookError("unsafe_content_refused");
  }
  const common = { allowUnsafeExternalContent, instructions: terms.instructions };
  if (draft.kind === "wake") return { kind: "wake", text: requireText(draft), mode, ...common };
  return { ...toAgentFields(draft, terms), ...common };
}

const LIMITS = { to: 512, model: 256, thinking: 64 } as const;

function toAgentFields(
  draft: FilledDraft,
  { config, requestedKey, agent }: Terms,
): Omit<AgentAction, "allowUnsafeExternalContent"> {
  const byRequest = draft.sessionKey === requestedKey;
  return {
    kind: "agent",
    message: requireText(draft),
    agent,
    name: draft.name,
    sessionKey: resolveSessionKey(draft.sessionKey, byRequest, config.hooks),
    wakeMode: draft.mode,
    deliver: draft.deliver,
    channel: requireChannel(draft.channel),
    to: requireShort("to", draft.to),
    model: resolveModel(requireShort("model", draft.model), config.agents),
    thinking: requireShort("thinking", draft.thinking) ?? config.agents.thinking,
    timeoutSeconds: draft.timeoutSeconds ?? config.agents.timeoutSeconds,
  };
}

function requireText(draft: FilledDraft): string {
  const text = textOf(draft);
  if (text !== undefined && text.trim() !== "") return text;
  const field = draft.kind === "wake" ? "text" : "message";
  throw new HookError("empty_message", {
    message: `${field} is blank: the hook's ${field}Template finds nothing in this payload.`,
  });
}

function requireChannel(name: string): AgentAction["channel"] {
  const channel = (["last", ...CHANNEL_NAMES] as const).find((known) => known === name);
  if (channel) return channel;
  throw new HookError("invalid_payload", { message: `channel must be one of last, ${CHANNEL_NAMES.join(", ")}.` });
}

function requireShort(field: keyof typeof LIMITS, text: string | undefined): string | undefined {
  if (text === undefined || text.length <= LIMITS[field]) return text;
  throw new HookError("invalid_payload", { message: `${field} can have ${LIMITS[field]} characters at most.` });
}

const MAX_LENGTH = 256;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/**
 * The session of an agent action. Hooks have a space of their own: a key that reads as the main session's is another
 * one. `given` is trimmed; `byRequest`: the request itself chose it. Throws a 400 `HookError` for a key that is refused.
 */
export function resolveSessionKey(
  given: string | undefined,
  byRequest: boolean,
  hooks: ResolvedConfig["hooks"],
): string {
  if (given === undefined) return hooks.defaultSessionKey ?? `hook:${createId()}`;
  if (byRequest && !hooks.allowRequestSessionKey) throw refusal("cannot be chosen by a request");
  if (given.length > MAX_LENGTH) throw refusal(`can have ${MAX_LENGTH} characters at most`);
  if (CONTROL.test(given) || !given.isWellFormed()) throw refusal("must not hold control characters");
  if (!hasAllowedPrefix(given, hooks.allowedSessionKeyPrefixes)) {
    throw refusal("does not start with one of the prefixes that are allowed");
  }
  return given.toLowerCase() === MAIN_SESSION ? `hook:${MAIN_SESSION}` : given;
}

function hasAllowedPrefix(key: string, prefixes: string[]): boolean {
  return prefixes.length === 0 || prefixes.some((prefix) => key.startsWith(prefix));
}

function refusal(reason: string): HookError {
  return new HookError("session_key_refused", { message: `sessionKey ${reason}.` });
}

/**
 * The model of a run as `provider/model`: the one that is named, by its id or its alias, else the configured one, if
 * there is one. Throws a 400 `HookError` for a name that is not on the list, where there is a list.
 */
export function resolveModel(
  name: string | undefined,
  { model, models }: ResolvedConfig["agents"],
): string | undefined {
  const wanted = name ?? model;
  const listed = models?.find(({ id, alias }) => id === wanted || alias === wanted);
  if (name !== undefined && models && !listed) {
    throw new HookError("model_not_allowed");
  }
  return listed?.id ?? wanted;
}
