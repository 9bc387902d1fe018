import type { MappingSource } from "../config/types.ts";
import type { ConfigProblem } from "../errors.ts";
import type { HookRequest } from "../types.ts";
import type { CompiledMapping } from "./compiled-mapping.ts";
import type { Match } from "./match.ts";

/** All mappings, prepared so that a request is held against those of its own path only. */
export interface MappingIndex {
  mappings: readonly CompiledMapping[];
  /** The first mapping that takes the request. */
  find(request: HookRequest): CompiledMapping | undefined;
  /** Whether a mapping names this hook, whatever else it asks for. */
  names(hook: string): boolean;
}

/** The order of `mappings` decides: first match wins. */
export function createMappingIndex(mappings: readonly CompiledMapping[]): MappingIndex {
  const anyPath = mappings.filter(({ match }) => match.path === undefined);
  const paths = new Set(mappings.flatMap(({ match }) => match.path ?? []));
  const byPath = new Map(
    [...paths].map((path) => [path, mappings.filter(({ match }) => match.path === undefined || match.path === path)]),
  );
  return {
    mappings,
    find: (request) => (byPath.get(request.hook) ?? anyPath).find(({ match }) => match.accepts(request)),
    names: (hook) => paths.has(hook),
  };
}

/** A warning for each mapping that no request can reach, because one before it takes all that it would match. */
export function findShadowed(mappings: readonly CompiledMapping[]): ConfigProblem[] {
  return mappings.flatMap((mapping, index) => {
    const shadow = mappings.slice(0, index).find((earlier) => isImplied(earlier.match, mapping.match));
    return shadow ? [toWarning(mapping, shadow)] : [];
  });
}

/** True where all that `narrow` accepts is accepted by `wide` as well: every condition of `wide` stands in `narrow` too. */
function isImplied(wide: Match, narrow: Match): boolean {
  return (
    (wide.path === undefined || wide.path === narrow.path) &&
    (wide.source === undefined || wide.source === narrow.source) &&
    Object.entries(wide.headers).every(([name, pattern]) => narrow.headers[name] === pattern) &&
    (wide.where === undefined || JSON.stringify(wide.where) === JSON.stringify(narrow.where))
  );
}

function toWarning({ source }: CompiledMapping, { source: shadow }: CompiledMapping): ConfigProblem {
  const message =
    `The mapping "${source.id}" can never be reached: "${shadow.id}" stands before it ` +
    `and takes every request that it would match. ${toRemedy(source, shadow)}`;
  return { ...placeOf(source.preset === undefined ? source : shadow), message };
}

/** A preset's mapping stands behind the configuration's own, and nobody can move it. */
function toRemedy({ preset }: MappingSource, shadow: MappingSource): string {
  if (preset === undefined) return "Move it up, or narrow the other's match.";
  const narrowed = shadow.preset === undefined ? `, or give "${shadow.id}" a narrower match` : "";
  return `Take "${preset}" out of hooks.presets${narrowed}.`;
}

function placeOf({ file, key, mapping }: MappingSource): { file: string | undefined; key: string } {
  return { file, key: mapping.match ? `${key}.match` : key };
}
