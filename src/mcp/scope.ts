import type { McpPrincipal } from "../core/config/resolved-config.ts";
import type { NewPublication } from "../core/journal/journal.ts";
import { compileGlobs } from "../core/mapping/pattern.ts";
import type { EventArguments } from "../core/types.ts";

/* Limits of a principal. Everything else does not exist for it. */

const patterns = new WeakMap<McpPrincipal, (name: string) => boolean>();

/** Whether the event type is one of the principal's. */
export function maySeeType(principal: McpPrincipal, name: string): boolean {
  const known = patterns.get(principal) ?? compileGlobs(principal.events);
  patterns.set(principal, known);
  return known(name);
}

/** Whether the principal may see a publication. One that lacks an argument which is fixed is not within it. */
export function maySee(principal: McpPrincipal, { name, arguments: args }: NewPublication): boolean {
  return (
    maySeeType(principal, name) &&
    Object.entries(principal.arguments).every(([argument, allowed]) => has(args, argument, allowed))
  );
}

/** Whether a filter asks only for values that the principal may see. Without a value, it asks for all of those. */
export function mayAsk(principal: McpPrincipal, filter: EventArguments): boolean {
  return Object.entries(principal.arguments).every(
    ([argument, allowed]) => !Object.hasOwn(filter, argument) || has(filter, argument, allowed),
  );
}

function has(args: EventArguments, name: string, allowed: readonly (string | number | boolean)[]): boolean {
  return Object.hasOwn(args, name) && allowed.some((value) => value === args[name]);
}

/** The values are no objects, so nothing that is inherited equals one. */
export function matchesFilter({ arguments: args }: Pick<NewPublication, "arguments">, filter: EventArguments): boolean {
  for (const name in filter) if (args[name] !== filter[name]) return false;
  return true;
}
