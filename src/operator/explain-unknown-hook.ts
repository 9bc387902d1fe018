import { didYouMean } from "../config/did-you-mean.ts";
import type { MappingIndex } from "../mapping/mapping-index.ts";
import { BUILT_IN_HOOKS } from "../types.ts";

/** Why nothing takes a request to this hook, in words that only the operator may hear: they name the hooks that exist. */
export function explainUnknownHook(hook: string, { mappings, names }: MappingIndex): string {
  if (names(hook)) {
    return `No mapping for "${hook}" takes this request: compare its headers and payload with their match.`;
  }
  const known = new Set([...BUILT_IN_HOOKS, ...mappings.flatMap(({ match }) => match.path ?? [])]);
  return `There is no hook "${hook}"${didYouMean(hook, [...known])}`;
}
