import type { MappingSource } from "../config/types.ts";
import type { ConfigProblem } from "../errors.ts";
import type { HookRequest } from "../types.ts";
import type { CompiledMapping } from "./compile.ts";

/** All mappings, indexed so that a request is compared only with those of its path. */
export interface MappingIndex {
  mappings: readonly CompiledMapping[];
  /** The first mapping that takes the request. */
  find(request: HookRequest): CompiledMapping | undefined;
  /** Whether a mapping names this hook, whatever its other conditions are. */
  names(hook: string): boolean;
}

/** The first match in the order of `mappings` wins. */
export function createMappingIndex(mappings: readonly CompiledMapping[]): MappingIndex {
  const anyPath = mappings.filter(({ match }) => match.path === undefined);
  const paths = new Set(mappings.flatMap(({ match }) => match.path ?? []));
  const byPath = new Map(
    [...paths].map((path) => [path, mappings.filter(({ match }) => match.path === undefined || match.path === path)]),
  );
  return {
    mappings,
    find: (request) =>
      (byPath.get(request.hook) ?? anyPath).find(
        (mapping) => isVisible(mapping, request) && mapping.match.accepts(request),
      ),
    names: (hook) => paths.has(hook),
  };
}

/** A mapping with its own credential is seen only by that one; all other mappings are for the tokens. */
function isVisible(mapping: CompiledMapping, { credential }: HookRequest): boolean {
  return credential.startsWith("auth:") ? mapping.credential === credential : mapping.credential === undefined;
}

/** A warning for each mapping that no request can reach, because an earlier one takes everything it would match. */
export function findShadowed(mappings: readonly CompiledMapping[]): ConfigProblem[] {
  return mappings.flatMap((mapping, index) => {
    const shadow = mappings.slice(0, index).find((earlier) => isImplied(earlier, mapping));
    return shadow ? [toShadowWarning(mapping.source, shadow.source)] : [];
  });
}

/** True if `wide` accepts everything that `narrow` accepts: every condition of `wide` is also one of `narrow`. */
function isImplied(
  { match: wide, ...earlier }: CompiledMapping,
  { match: narrow, ...later }: CompiledMapping,
): boolean {
  return (
    earlier.credential === later.credential &&
    (wide.path === undefined || wide.path === narrow.path) &&
    (wide.source === undefined || wide.source === narrow.source) &&
    Object.entries(wide.headers).every(([name, pattern]) => narrow.headers[name] === pattern) &&
    (wide.where === undefined || JSON.stringify(wide.where) === JSON.stringify(narrow.where))
  );
}

function toShadowWarning(source: MappingSource, shadow: MappingSource): ConfigProblem {
  const { file, key, mapping } = source.preset === undefined ? source : shadow;
  const message =
    `The mapping "${source.id}" can never be reached: "${shadow.id}" comes first ` +
    `and takes every request that it would match. ${toRemedy(source, shadow)}`;
  return { file, key: mapping.match ? `${key}.match` : key, message };
}

/** A preset's mapping always comes after the configuration's own. */
function toRemedy({ preset }: MappingSource, shadow: MappingSource): string {
  if (preset === undefined) return "Move it up, or narrow the other's match.";
  const narrowed = shadow.preset === undefined ? `, or give "${shadow.id}" a narrower match` : "";
  return `Remove "${preset}" from hooks.presets${narrowed}.`;
}
