import type { ResolvedConfig } from "../config/resolved.ts";
import type { HookRequest, Resolution } from "../types.ts";
import { type Draft, fillDraft } from "./draft.ts";
import { toChosenKey } from "./idempotency.ts";
import { findUnknownFields, requireAgent, requireWake } from "./payload.ts";
import { toAction } from "./policy.ts";

/** What `wake` and `agent` make of a request: the payload's own fields, under the operator's policy. */
export function resolveBuiltIn(
  hook: "wake" | "agent",
  request: HookRequest,
  config: ResolvedConfig,
): Resolution {
  const { draft, idempotencyKey, warnings } = hook === "wake" ? readWake(request) : readAgent(request);
  const filled = fillDraft(draft, hook);
  const terms = { config, allowsUnsafe: false, requestedKey: filled.sessionKey };
  return {
    actions: [toAction(filled, terms)],
    idempotency: toChosenKey(request.idempotencyKey ?? idempotencyKey),
    warnings,
    log: [],
  };
}

interface Reading {
  draft: Draft;
  idempotencyKey?: string;
  warnings: string[];
}

function readWake({ payload }: HookRequest): Reading {
  requireWake(payload);
  const { text, mode, idempotencyKey } = payload;
  return {
    draft: { kind: "wake", text, mode },
    idempotencyKey,
    warnings: findUnknownFields("wake", payload),
  };
}

/** Field by field, so that nothing else of the payload reaches the action. */
function readAgent({ payload }: HookRequest): Reading {
  requireAgent(payload);
  const { message, name, sessionKey, wakeMode, deliver, channel, to } = payload;
  const { model, thinking, timeoutSeconds, idempotencyKey } = payload;
  const turn = { message, name, sessionKey, model, thinking, timeoutSeconds };
  return {
    draft: { kind: "agent", ...turn, deliver, channel, to, mode: wakeMode },
    idempotencyKey,
    warnings: findUnknownFields("agent", payload),
  };
}
