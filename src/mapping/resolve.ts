import type { ResolvedConfig } from "../config/types.ts";
import { HookError } from "../errors.ts";
import { BUILT_IN_HOOKS, type HookRequest, type Resolution } from "../types.ts";
import { type Draft, fillDraft } from "./draft.ts";
import { requireIdempotencyKey, toChosenKey } from "./idempotency.ts";
import type { MappingIndex } from "./mapping-index.ts";
import { toAction } from "./policy.ts";
import { findUnknownFields, type MappedOptions, requireAgent, requireWake, resolveMapped } from "./resolve-mapping.ts";

export interface ResolveOptions extends MappedOptions {
  mappings: MappingIndex;
}

/**
 * The mapping step as a whole: from a request to the actions that policy passes, or none where the mapping skips it.
 * Waits for nothing but the transform. Throws a `HookError` for what its caller may hear: 404 where nothing matches.
 */
export async function resolveRequest(request: HookRequest, options: ResolveOptions): Promise<Resolution> {
  requireIdempotencyKey(request);
  const builtIn = BUILT_IN_HOOKS.find((hook) => hook === request.hook);
  if (builtIn) return resolveBuiltIn(builtIn, request, options.config);
  const mapping = options.mappings.find(request);
  if (!mapping) throw notFound(options.mappings.names(request.hook));
  return resolveMapped(mapping, request, options);
}

/** Who posts many payloads can tell one that no mapping wants from a hook that is not there yet: the mail watch does. */
function notFound(isNamed: boolean): HookError {
  const headers: Record<string, string> = isNamed ? { "Hook-Exists": "true" } : {};
  return new HookError("not_found", { message: "No hook matches this request.", headers });
}

/** What `wake` and `agent` make of a request: the payload's own fields, under the operator's policy. */
function resolveBuiltIn(hook: "wake" | "agent", request: HookRequest, config: ResolvedConfig): Resolution {
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
