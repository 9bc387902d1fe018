import type { ResolvedConfig } from "../../config/resolved-config.ts";
import { HookError } from "../../errors.ts";
import { readOwn } from "../../shared/json.ts";
import { SOURCE_CHANNEL, toChannelName } from "../../shared/channel-names.ts";
import type { HookRequest } from "../../types.ts";
import type { Draft } from "../draft.ts";

// Fields of OpenClaw's hooks that ours lack, with `hooks.compat: "openclaw"`.

/** Fields that a request to `agent` or `wake` may have too. */
export const OPENCLAW_FIELDS = {
  agent: ["agentId", "sessionMode", "accountId", "waitForCompletion"],
  wake: ["agentId"],
} as const;

export function isOpenClaw({ hooks }: Pick<ResolvedConfig, "hooks">): boolean {
  return hooks.compat === "openclaw";
}

/** The name of a channel as the configuration has it. */
export function createToChannel(config: ResolvedConfig): (name: string) => string {
  return isOpenClaw(config) ? (name) => toChannelName(name.toLowerCase()) : toChannelName;
}

type Fields = Pick<Draft, "agentId" | "sessionMode" | "accountId">;

/** The fields of OpenClaw that a request has. Throws a 400 for one that is not valid. */
export function readOpenClawFields(payload: unknown): Fields {
  const { agentId, accountId } = { agentId: readOwn(payload, "agentId"), accountId: readOwn(payload, "accountId") };
  const sessionMode = readOwn(payload, "sessionMode") ?? undefined;
  if (sessionMode !== undefined && sessionMode !== "isolated" && sessionMode !== "persistent") {
    throw invalid("sessionMode must be isolated or persistent.");
  }
  return { agentId: requireId("agentId", agentId), accountId: requireId("accountId", accountId), sessionMode };
}

/** How long a request to `agent` waits for its run, in seconds; undefined: it does not. */
export function findCompletionWait(
  { hook, payload }: Pick<HookRequest, "hook" | "payload">,
  { timeoutSeconds }: Pick<ResolvedConfig["agents"], "timeoutSeconds">,
): number | undefined {
  if (hook !== "agent" || readOwn(payload, "waitForCompletion") !== true) return undefined;
  const own = readOwn(payload, "timeoutSeconds");
  return Math.min(typeof own === "number" ? own : timeoutSeconds, MAX_WAIT_SECONDS) + DELIVERY_SECONDS;
}

const MAX_WAIT_SECONDS = 3600;
/** For its place in the queue and the delivery. */
const DELIVERY_SECONDS = 60;

const ID = /^[A-Za-z0-9][\w.-]{0,63}$/;

function requireId(field: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && ID.test(value.trim())) return value.trim();
  throw invalid(`${field} must be a name of up to 64 letters, digits, dots, - and _.`);
}

/**
 * Turns the fields of a draft into what they mean here: `agentId` into the model of a gateway, `accountId` into the channel's
 * block of that account. Throws a 400 for what is not allowed.
 */
export function applyOpenClaw(draft: Draft, config: ResolvedConfig): { draft: Draft; warnings: string[] } {
  if (!isOpenClaw(config)) return { draft, warnings: [] };
  const { agentId, accountId } = readOpenClawFields(draft);
  const channel = createToChannel(config)(draft.channel);
  const model = agentId === undefined ? undefined : findModel(agentId, draft, config);
  const isUnused = agentId !== undefined && model === undefined;
  return {
    draft: { ...draft, model: model ?? draft.model, channel: toAccount(channel, accountId) },
    warnings: isUnused ? [NO_GATEWAY] : [],
  };
}

const NO_GATEWAY = "agentId was not used: a wake has one agent, and others need a provider of kind gateway.";

/** Throws a 400 if `hooks.allowedAgentIds` does not list the agent. */
function findModel(agentId: string, { kind }: Draft, { hooks, agents }: ResolvedConfig): string | undefined {
  const allowed = hooks.allowedAgentIds;
  if (allowed && !allowed.includes("*") && !allowed.includes(agentId)) {
    throw invalid("agentId is not among hooks.allowedAgentIds.");
  }
  if (kind === "wake") return undefined;
  const isGateway = (name: string): boolean => agents.providers[name]?.kind === "gateway";
  const [usual = ""] = agents.model?.split("/") ?? [];
  const provider = isGateway(usual) ? usual : Object.keys(agents.providers).find(isGateway);
  return provider === undefined ? undefined : `${provider}/openclaw:${agentId}`;
}

/** The account `default` is the channel's own block. */
function toAccount(channel: string, accountId: string | undefined): string {
  if (accountId === undefined || accountId === "default") return channel;
  if (channel === "last" || channel === SOURCE_CHANNEL) throw invalid("accountId needs a channel.");
  return `${channel}:${accountId}`;
}

function invalid(message: string): HookError {
  return new HookError("invalid_payload", { message });
}
