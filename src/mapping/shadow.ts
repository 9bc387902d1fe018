import type { ConfigProblem } from "../errors.ts";
import type { CompiledMapping } from "./compile.ts";
import type { Match } from "./match.ts";

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

function toWarning({ source }: CompiledMapping, shadow: CompiledMapping): ConfigProblem {
  const message =
    `The mapping "${source.id}" can never be reached: "${shadow.source.id}" stands before it ` +
    "and takes every request that it would match. Move it up, or narrow the other's match.";
  return { file: source.file, key: source.mapping.match ? `${source.key}.match` : source.key, message };
}
