import type { AgentPayload, WakePayload } from "../config/schema/generated.ts";
import { createBuiltCheck, readSchema, type SchemaCheck } from "../config/schema/validator.ts";
import { HookError } from "../errors.ts";
import { toObject } from "../shared/json.ts";
import { SOURCE_CHANNEL } from "../shared/channel-names.ts";
import type { BuiltInHook, HookAction } from "../types.ts";
import { applyOpenClaw, isOpenClaw, OPENCLAW_FIELDS, readOpenClawFields } from "./policy/openclaw.ts";
import { toGrants } from "./policy/grants.ts";
import { type Given, toDraft } from "./draft.ts";
import { findUnusedModels, type Terms, toAction } from "./policy/policy.ts";

const KNOWN = { wake: fieldsOf("wake"), agent: fieldsOf("agent") };
const CHECKS = { wake: createBuiltCheck("wake"), agent: createBuiltCheck("agent") };

/** The action of a request to `wake` or `agent`: the fields of its payload, under the operator's policy. */
export function resolveBuiltIn(
  hook: BuiltInHook,
  payload: unknown,
  terms: Pick<Terms, "config" | "channels" | "sessions">,
): { action: HookAction; idempotencyKey?: string; warnings: string[] } {
  const { given, idempotencyKey } = hook === "wake" ? readWake(payload) : readAgent(payload);
  const isCompatible = isOpenClaw(terms.config);
  if (hook === "agent") given.grants = toGrants(terms.config.hooks.agent.grants);
  if (isCompatible) Object.assign(given, readOpenClawFields(payload));
  const { draft, warnings } = applyOpenClaw(toDraft(given, hook), terms.config);
  if (draft.channel === SOURCE_CHANNEL) {
    throw new HookError("invalid_payload", { message: "channel source can only be set in a mapping." });
  }
  const target = { ...draft, isWanted: true, isOwnChannel: false, isOwnRecipient: false };
  const action = toAction(
    { ...draft, targets: [target] },
    {
      ...terms,
      allowsUnsafe: false,
      trustedName: hook,
      routeBy: () => "request",
      isRequestedKey: () => true,
    },
  );
  return {
    action,
    idempotencyKey,
    warnings: [
      ...findUnknownFields(payload, [...KNOWN[hook], ...(isCompatible ? OPENCLAW_FIELDS[hook] : [])]),
      ...warnings,
      ...findUnusedModels([action], terms.config),
    ],
  };
}

/** Throws a `HookError` that names the field if the payload does not satisfy the schema. */
export function requireValid(check: SchemaCheck, payload: unknown): void {
  const [problem] = check(payload);
  if (problem) throw new HookError("invalid_payload", { message: `Invalid payload: ${problem.message}.` });
}

interface Reading {
  given: Given;
  idempotencyKey?: string;
}

function readWake(payload: unknown): Reading {
  requirePayload("wake", payload);
  const { text, mode, idempotencyKey } = payload;
  return { given: { kind: "wake", text, mode }, idempotencyKey };
}

/** Field by field, so that nothing else of the payload reaches the action. */
function readAgent(payload: unknown): Reading {
  requirePayload("agent", payload);
  const { message, name, sessionKey, wakeMode, deliver, channel, to } = payload;
  const { model, thinking, timeoutSeconds, idempotencyKey } = payload;
  const turn = { message, name, sessionKey, model, thinking, timeoutSeconds };
  return { given: { kind: "agent", ...turn, deliver, channel, to, mode: wakeMode }, idempotencyKey };
}

function requirePayload<Hook extends BuiltInHook>(
  hook: Hook,
  payload: unknown,
): asserts payload is { wake: WakePayload; agent: AgentPayload }[Hook] {
  requireValid(CHECKS[hook], payload);
}

function fieldsOf(hook: BuiltInHook): string[] {
  return Object.keys(toObject(readSchema(hook)["properties"]));
}

const MAX_WARNINGS = 20;
const MAX_NAME_LENGTH = 64;

/** A sentence for each unknown field. The sender chooses names and number, so both are limited. */
function findUnknownFields(payload: unknown, known: readonly string[]): string[] {
  return Object.keys(toObject(payload))
    .filter((name) => !known.includes(name))
    .slice(0, MAX_WARNINGS)
    .map((name) => `The field ${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))} is unknown and was ignored.`);
}
