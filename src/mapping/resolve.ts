import { HookError } from "../errors.ts";
import { BUILT_IN_HOOKS, type HookRequest, type Resolution } from "../types.ts";
import { resolveBuiltIn } from "./built-in.ts";
import { requireIdempotencyKey } from "./idempotency.ts";
import { type MappedOptions, resolveMapped } from "./mapped.ts";
import type { MappingIndex } from "./mapping-index.ts";

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
  return new HookError(404, "not_found", "There is no such hook.", { headers });
}
