import { hash } from "node:crypto";
import { compiledChecks } from "./compiled-checks.ts";

/**
 * Finds the facts of a template, an expression or a schema that a start needs. The build has found them for the texts of the
 * package's presets, whose templates alone would take a third of a start with all of them: they are compiled at their
 * first use. For any other text `find` gives them, or throws; undefined: the build does not keep them.
 */
export function findFacts<Facts extends object | undefined>(kind: string, text: string, find: () => Facts): Facts {
  const name = hash("sha256", `${kind} ${text}`).slice(0, 32);
  const built = compiledChecks.findFacts?.(name);
  if (isOfBuild(built, find)) return built;
  const found = find();
  if (found) compiledChecks.keepFacts?.(name, found);
  return found;
}

/** The build wrote what `find` gave it for the same text. */
function isOfBuild<Facts>(facts: unknown, _find: () => Facts): facts is Facts {
  return facts !== undefined;
}
