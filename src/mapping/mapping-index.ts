import type { HookRequest } from "../types.ts";
import type { CompiledMapping } from "./compiled-mapping.ts";

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
    [...paths].map((path) => [
      path,
      mappings.filter(({ match }) => match.path === undefined || match.path === path),
    ]),
  );
  return {
    mappings,
    find: (request) => (byPath.get(request.hook) ?? anyPath).find(({ match }) => match.accepts(request)),
    names: (hook) => paths.has(hook),
  };
}
